using HibpIngest.Pipeline;
using HibpIngest.Stores;

namespace HibpIngest.Functions;

/// <summary>
/// blobTrigger on whatever is dropped: takes the announced blob on and ingests it, within the time budget, where it is a
/// breach by its name. It is told the blob's name only: the content is read from the store, in ranges.
/// </summary>
internal static class IngestBreachFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "IngestBreach";

    public static Task RunAsync(Invocation invocation, HandlerPipeline pipeline, CancellationToken cancellationToken) =>
        pipeline.Get<PipelineDispatcher>().IngestBlobAsync(invocation.BlobName(IBreachBlobs.Container), cancellationToken);
}
