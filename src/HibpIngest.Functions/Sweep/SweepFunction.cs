using System.Text.Json;

namespace HibpIngest.Functions;

/// <summary>
/// timerTrigger, every minute: re-sends what was lost between two steps. At rest it asks no database, so that a
/// serverless one can pause.
/// </summary>
internal static class SweepFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "Sweep";

    public static async Task RunAsync(Invocation invocation, HandlerPipeline pipeline, CancellationToken cancellationToken)
    {
        invocation.Require("timer", JsonValueKind.Object);
        // None waits for another's stores.
        var others = Task.WhenAll(
            pipeline.Passwords.SweepAsync(pipeline.Context.Options.SweepBlobAge, cancellationToken),
            pipeline.Access.SweepAsync(cancellationToken));
        try
        {
            if (!await pipeline.Setup.IsAtRestAsync(cancellationToken))
                await pipeline.Setup.EnsureOnceAsync(cancellationToken);
            await pipeline.Sweep.RunAsync(cancellationToken);
        }
        finally
        {
            await others;
        }
    }
}
