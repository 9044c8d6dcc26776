using Xunit.Abstractions;

[assembly: TestCollectionOrderer("HibpIngest.Integration.Tests.LongestFirst", "HibpIngest.Integration.Tests")]

namespace HibpIngest.Integration.Tests;

/// <summary>Starts the slowest classes first: one started last would run alone at the end, leaving a core idle.</summary>
public sealed class LongestFirst : ITestCollectionOrderer
{
    /// <summary>The classes above 30 s in CI, slowest first. The order of the others makes no difference.</summary>
    private static readonly string[] Longest =
    [
        "OperationTests", "RebuildCampaignTests", "CallbackCampaignTests", "AppendCampaignTests", "LayoutsTests", "RestoreTests",
        "HostCaseTests", "ReusedReleaseTests", "ToolPackageTests", "CommandTests", "PasswordClientTests", "FillTests",
        "DroppedPasswordsTests", "AppendTests", "AccessKillsTests", "HostileTests", "InstallationTests", "AnswerTests",
    ];

    public IEnumerable<ITestCollection> OrderTestCollections(IEnumerable<ITestCollection> testCollections) =>
        testCollections.OrderBy(collection =>
            Array.FindIndex(Longest, name => collection.DisplayName.EndsWith($".{name}", StringComparison.Ordinal)) is >= 0 and var place
                ? place : Longest.Length);
}
