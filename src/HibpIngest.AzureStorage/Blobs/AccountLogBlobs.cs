using System.Runtime.CompilerServices;
using Azure;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using Azure.Storage.Blobs.Specialized;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage.Blobs;

internal sealed class AccountLogBlobs(BlobContainerClient container) : IAccountLogBlobs
{
    // No name in them says who: they are numbers and hashes.
    private const string Listing = "listing of the account log";

    public Task CreateAsync(CancellationToken cancellationToken) => BreachBlobs.Call("creation of the account log's container",
        async () => await container.CreateIfNotExistsAsync(PublicAccessType.None, null, null, cancellationToken), cancellationToken);

    public async IAsyncEnumerable<LogBlob> ListAsync(string prefix, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        await using var blobs = container.GetBlobsAsync(BlobTraits.None, BlobStates.None, prefix, cancellationToken)
            .GetAsyncEnumerator(cancellationToken);
        while (await NextAsync(blobs, cancellationToken))
            yield return new LogBlob(blobs.Current.Name, blobs.Current.Properties.ContentLength ?? 0);
    }

    public Task<long?> FindAsync(string name, CancellationToken cancellationToken) =>
        BreachBlobs.Call<long?>($"look-up of blob '{name}'", async () =>
        {
            try
            {
                BlobProperties blob = await container.GetBlobClient(name).GetPropertiesAsync(cancellationToken: cancellationToken);
                return blob.ContentLength;
            }
            catch (RequestFailedException e) when (e.Status == 404)
            {
                return null; // an answer to HEAD has no body to say what is missing
            }
        }, cancellationToken);

    public Task<Stream?> OpenAsync(string name, long offset, long length, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(offset);
        ArgumentOutOfRangeException.ThrowIfLessThan(length, 1);
        var reading = $"reading of blob '{name}'";
        return BreachBlobs.Call<Stream?>(reading, async () =>
        {
            try
            {
                // Where the connection is lost half way, the library goes on behind what has come, under If-Match.
                var answer = await container.GetBlobClient(name).DownloadStreamingAsync(
                    new BlobDownloadOptions { Range = new HttpRange(offset, length) }, cancellationToken);
                return new BlobBody(answer.Value.Content, reading);
            }
            catch (RequestFailedException e) when (e.ErrorCode == BlobErrorCode.InvalidRange || e.Status == 416)
            {
                return Stream.Null; // it begins behind the end
            }
            catch (RequestFailedException e) when (e.Status == 404)
            {
                return null; // as where there is no container
            }
        }, cancellationToken);
    }

    public Task<bool> WriteAsync(string name, ReadOnlyMemory<byte> content, CancellationToken cancellationToken) =>
        BreachBlobs.Call($"writing of blob '{name}'", async () =>
        {
            try
            {
                await container.GetBlobClient(name).UploadAsync(
                    new BinaryData(content), new BlobUploadOptions { Conditions = Absent() }, cancellationToken);
                return true;
            }
            catch (RequestFailedException e) when (e.Status == 412 || e.ErrorCode == BlobErrorCode.BlobAlreadyExists)
            {
                return false;
            }
        }, cancellationToken);

    public async Task<bool> UploadAsync(string name, Stream content, CancellationToken cancellationToken) =>
        await BlockUpload.TryRunAsync(container.GetBlockBlobClient(name), content, Absent(), null, cancellationToken) is not null;

    public Task DeleteAsync(string name, CancellationToken cancellationToken) => BreachBlobs.Call($"deletion of blob '{name}'",
        async () => await container.GetBlobClient(name).DeleteIfExistsAsync(cancellationToken: cancellationToken), cancellationToken);

    private static BlobRequestConditions Absent() => new() { IfNoneMatch = ETag.All };

    private static async Task<bool> NextAsync(IAsyncEnumerator<BlobItem> blobs, CancellationToken cancellationToken)
    {
        try
        {
            return await BreachBlobs.Call(Listing, async () => await blobs.MoveNextAsync(), cancellationToken);
        }
        catch (StoreMissingException)
        {
            return false; // nothing was ever logged
        }
    }
}
