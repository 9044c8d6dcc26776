using HibpIngest.Pipeline;

namespace HibpIngest.Functions;

/// <summary>queueTrigger on <see cref="QueueNames.Log"/>: writes a load into the account log.</summary>
internal static class LogLoadFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "LogLoad";

    public static Task RunAsync(Invocation invocation, HandlerPipeline pipeline, CancellationToken cancellationToken) =>
        pipeline.Get<PipelineDispatcher>().DispatchAsync(QueueNames.Log, invocation.QueueMessage(), cancellationToken);
}
