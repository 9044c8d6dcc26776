using Azure.Storage.Blobs;
using HibpIngest.Hosting.Messages;
using HibpIngest.Passwords;
using HibpIngest.Passwords.Import.Drops;
using HibpIngest.Passwords.Releases;
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

/// <summary>Plans the import of a dropped file of Pwned Passwords. Only the blob's name is used; the content is read in ranges.</summary>
public sealed class PlanPasswordsFunction(ServingStores stores, PlanImport plan)
{
    [Function("PlanPasswords")]
    public Task RunAsync(
        [BlobTrigger(
            $"{IPasswordDrops.Container}/{{name}}", Source = BlobTriggerSource.EventGrid,
            Connection = FunctionsAppSettings.BreachStorage)]
        BlobClient blob, CancellationToken cancellationToken) =>
        stores.RunAsync(token => plan.RunAsync(blob.Name, token), cancellationToken);
}
