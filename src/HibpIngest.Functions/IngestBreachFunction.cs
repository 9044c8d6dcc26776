using Azure.Storage.Blobs;
using HibpIngest.Pipeline.Ingest;

namespace HibpIngest.Functions;

/// <summary>Ingests a dropped file, within the time budget. Only the blob's name is used; the content is read in ranges.</summary>
public sealed class IngestBreachFunction(DroppedBreaches breaches)
{
    [Function("IngestBreach")]
    public Task RunAsync(
        [BlobTrigger(
            $"{IBreachBlobs.Container}/{{name}}", Source = BlobTriggerSource.EventGrid,
            Connection = FunctionsAppSettings.BreachStorage)]
        BlobClient blob, CancellationToken cancellationToken) =>
        breaches.IngestAsync(blob.Name, cancellationToken);
}
