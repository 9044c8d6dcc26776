using HibpIngest.Hosting;
using HibpIngest.Stores;

namespace HibpIngest.Functions;

/// <summary>
/// blobTrigger on dropped files of Pwned Passwords: looks at the file, and sends a message for each part of it. It is told the
/// blob's name only.
/// </summary>
internal static class PlanPasswordsFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "PlanPasswords";

    public static Task RunAsync(Invocation invocation, HandlerPipeline pipeline, CancellationToken cancellationToken) =>
        pipeline.Get<PasswordWork>().PlanAsync(invocation.BlobName(IPasswordDrops.Container), cancellationToken);
}
