using System.Text.Json;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;

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
            pipeline.Get<PasswordWork>().SweepAsync(pipeline.Get<PipelineOptions>().SweepBlobAge, cancellationToken),
            pipeline.Get<AccessWork>().SweepAsync(cancellationToken));
        try
        {
            var setup = pipeline.Get<StoreSetup>();
            if (!await setup.IsAtRestAsync(cancellationToken))
                await setup.EnsureOnceAsync(cancellationToken);
            await pipeline.Get<Sweep>().RunAsync(cancellationToken);
        }
        finally
        {
            await others;
        }
    }
}
