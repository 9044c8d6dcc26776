using Azure.Storage.Blobs;
using HibpIngest.Passwords.Import.Drops;

namespace HibpIngest.Functions;

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
