using Azure.Storage.Blobs;
using HibpIngest.Hosting;
using HibpIngest.Stores;
using Microsoft.Azure.Functions.Worker;

namespace HibpIngest.Functions;

/// <summary>Plans the import of a dropped file of Pwned Passwords. Only the blob's name is used; the content is read in ranges.</summary>
public sealed class PlanPasswordsFunction(PasswordWork passwords)
{
    [Function("PlanPasswords")]
    public Task RunAsync(
        [BlobTrigger(
            $"{IPasswordDrops.Container}/{{name}}", Source = BlobTriggerSource.EventGrid,
            Connection = FunctionsAppSettings.BreachStorage)]
        BlobClient blob, CancellationToken cancellationToken) =>
        passwords.PlanAsync(blob.Name, cancellationToken);
}
