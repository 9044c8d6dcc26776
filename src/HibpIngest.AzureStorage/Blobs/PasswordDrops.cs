using System.Runtime.CompilerServices;
using Azure;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage.Blobs;

internal sealed class PasswordDrops(BlobContainerClient container) : IPasswordDrops
{
    // Without the name, which comes from outside.
    private const string Reading = "reading of a dropped file of passwords";

    public Task CreateAsync(CancellationToken cancellationToken) => BreachBlobs.Call("creation of the container of dropped passwords",
        async () => await container.CreateIfNotExistsAsync(PublicAccessType.None, null, null, cancellationToken), cancellationToken);

    public async IAsyncEnumerable<DroppedPasswords> ListAsync([EnumeratorCancellation] CancellationToken cancellationToken)
    {
        await using var blobs = container.GetBlobsAsync(BlobTraits.None, BlobStates.None, null, cancellationToken)
            .GetAsyncEnumerator(cancellationToken);
        while (await BreachBlobs.Call("listing of dropped passwords", async () => await blobs.MoveNextAsync(), cancellationToken))
        {
            var (name, blob) = (blobs.Current.Name, blobs.Current.Properties);
            // The listing gives ETags without quotes, everything else with them.
            yield return new DroppedPasswords(
                name, BreachBlobs.Version(name, blob.ETag!.Value).ETag, blob.ContentLength ?? 0, blob.LastModified ?? default);
        }
    }

    public Task<DroppedPasswords?> FindAsync(string name, CancellationToken cancellationToken) =>
        BreachBlobs.Call<DroppedPasswords?>(Reading, async () =>
        {
            try
            {
                BlobProperties blob = await container.GetBlobClient(name).GetPropertiesAsync(cancellationToken: cancellationToken);
                return new DroppedPasswords(name, BreachBlobs.Version(name, blob.ETag).ETag, blob.ContentLength, blob.LastModified);
            }
            catch (RequestFailedException e) when (e.Status == 404)
            {
                return null; // an answer to HEAD has no body to say what is missing
            }
        }, cancellationToken);

    public async Task<ReadOnlyMemory<byte>?> ReadAsync(
        DroppedPasswords file, long offset, int length, CancellationToken cancellationToken)
    {
        try
        {
            var part = await BlobDownload.RunAsync(
                container.GetBlobClient(file.Name), Reading,
                new BlobDownloadOptions
                {
                    Range = new HttpRange(offset, length),
                    Conditions = new BlobRequestConditions { IfMatch = new ETag(file.ETag) },
                },
                cancellationToken);
            return part is null ? null
                : part.Content.Length == length ? part.Content
                : throw new StoreUnavailableException($"{Reading} failed: {part.Content.Length} bytes came, and {length} were expected");
        }
        catch (EntityChangedException)
        {
            return null;
        }
    }

    public Task DeleteAsync(DroppedPasswords file, CancellationToken cancellationToken) =>
        BreachBlobs.Call("deletion of a dropped file of passwords", async () =>
        {
            try
            {
                return await container.GetBlobClient(file.Name).DeleteIfExistsAsync(
                    conditions: new BlobRequestConditions { IfMatch = new ETag(file.ETag) }, cancellationToken: cancellationToken);
            }
            catch (RequestFailedException e) when (e.Status == 412)
            {
                return null;
            }
        }, cancellationToken);
}
