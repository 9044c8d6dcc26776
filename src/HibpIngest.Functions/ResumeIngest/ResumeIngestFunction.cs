using HibpIngest.Pipeline;

namespace HibpIngest.Functions;

/// <summary>
/// queueTrigger on <see cref="QueueNames.Ingest"/>: goes on with loads, and takes on files that no event
/// announced.
/// </summary>
internal static class ResumeIngestFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "ResumeIngest";

    public static Task RunAsync(Invocation invocation, HandlerPipeline pipeline, CancellationToken cancellationToken) =>
        pipeline.Get<PipelineDispatcher>().DispatchAsync(QueueNames.Ingest, invocation.QueueMessage(), cancellationToken);
}
