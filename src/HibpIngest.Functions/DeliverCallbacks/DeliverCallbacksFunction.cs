using HibpIngest.Pipeline;

namespace HibpIngest.Functions;

/// <summary>queueTrigger on <see cref="QueueNames.Callbacks"/>: calls a client.</summary>
internal static class DeliverCallbacksFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "DeliverCallbacks";

    public static Task RunAsync(Invocation invocation, HandlerPipeline pipeline, CancellationToken cancellationToken) =>
        pipeline.Get<PipelineDispatcher>().DispatchAsync(QueueNames.Callbacks, invocation.QueueMessage(), cancellationToken);
}
