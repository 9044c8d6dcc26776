using Xunit.Abstractions;

[assembly: TestCollectionOrderer("HibpIngest.Integration.Tests.LongestFirst", "HibpIngest.Integration.Tests")]

namespace HibpIngest.Integration.Tests;

/// <summary>
/// Begins with the classes that take minutes: one that is begun last would run alone at the end, and the whole by as
/// much longer.
/// </summary>
public sealed class LongestFirst : ITestCollectionOrderer
{
    /// <summary>As they were measured in CI, the longest first.</summary>
    private static readonly string[] Longest =
    [
        "OperationTests", "RebuildCampaignTests", "CallbackCampaignTests", "AppendCampaignTests", "CommandTests", "ToolPackageTests",
        "RestoreTests", "PasswordsCommandTests", "DroppedPasswordsTests", "ReplicaTests", "AppendTests", "NotifyTests",
        "TelemetryExportTests", "RequeueTests", "PurgedRemovalDropTests", "PasswordClientTests", "LogTests", "ContinuationTests",
        "PasswordCampaignTests", "ReplicateCommandTests", "RemovalCrashTests", "ImportReleaseTests", "AppendApiTests", "CrashTests",
        "AcceptanceTests", "FillTests",
    ];

    /// <inheritdoc/>
    public IEnumerable<ITestCollection> OrderTestCollections(IEnumerable<ITestCollection> testCollections) =>
        testCollections.OrderBy(collection =>
            Array.FindIndex(Longest, name => collection.DisplayName.EndsWith($".{name}", StringComparison.Ordinal)) is >= 0 and var place
                ? place : Longest.Length);
}
