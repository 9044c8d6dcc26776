using HibpIngest.Pipeline;

namespace HibpIngest.Functions;

/// <summary>queueTrigger on <see cref="QueueNames.Match"/>: finds whom a load concerns.</summary>
internal static class MatchSubscribersFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "MatchSubscribers";

    public static Task RunAsync(Invocation invocation, HandlerPipeline pipeline, CancellationToken cancellationToken) =>
        pipeline.Get<PipelineDispatcher>().DispatchAsync(QueueNames.Match, invocation.QueueMessage(), cancellationToken);
}
