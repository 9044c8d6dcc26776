using HibpIngest.Pipeline;

namespace HibpIngest.Functions;

/// <summary>queueTrigger on <see cref="QueueNames.Calls"/>: looks through a slice for what clients watch.</summary>
internal static class CallClientsFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "CallClients";

    public static Task RunAsync(Invocation invocation, HandlerPipeline pipeline, CancellationToken cancellationToken) =>
        pipeline.Get<PipelineDispatcher>().DispatchAsync(QueueNames.Calls, invocation.QueueMessage(), cancellationToken);
}
