using HibpIngest.Pipeline;

namespace HibpIngest.Functions;

/// <summary>queueTrigger on <see cref="QueueNames.Slices"/>: upserts one slice.</summary>
internal static class UpsertSliceFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "UpsertSlice";

    public static Task RunAsync(Invocation invocation, HandlerPipeline pipeline, CancellationToken cancellationToken) =>
        pipeline.Get<PipelineDispatcher>().DispatchAsync(QueueNames.Slices, invocation.QueueMessage(), cancellationToken);
}
