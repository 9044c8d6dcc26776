using HibpIngest.Stores;

namespace HibpIngest.Functions;

/// <summary>
/// blobTrigger on dropped zips: takes the announced blob on and ingests it, within the time budget. It is told
/// the blob's name only: the content is read from the store, in ranges.
/// </summary>
internal static class IngestBreachFunction
{
    /// <summary>What the host calls it.</summary>
    public const string Name = "IngestBreach";

    private const string Extension = ".zip";

    public static Task RunAsync(Invocation invocation, HandlerPipeline pipeline, CancellationToken cancellationToken) =>
        pipeline.Dispatcher.IngestBlobAsync(invocation.BlobName(IBreachBlobs.Container, Extension), cancellationToken);
}
