using System.Globalization;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;

namespace HibpIngest.Storage.Azure.Blobs;

/// <summary>One blob per client, named by its number.</summary>
internal sealed class PrefixBlobs(BlobContainerClient container) : IPrefixBlobs
{
    public Task CreateAsync(CancellationToken cancellationToken) =>
        container.CreateIfMissingAsync("creation of the clients' container", cancellationToken);

    public async Task<PrefixBlob?> ReadAsync(int client, CancellationToken cancellationToken, PrefixBlob? known = null)
    {
        var reading = $"reading of client {client}'s prefixes";
        BlobDownload? blob;
        try
        {
            blob = await BlobDownload.RunAsync(Blob(client), reading, known?.Version, cancellationToken);
        }
        catch (StoreMissingException)
        {
            return null; // no client ever watched a prefix
        }
        if (blob is null)
            return null;
        if (blob.Details is null)
            return known;
        if (blob.Content.Length != PrefixBitmap.Length)
            throw new StoreMismatchException($"client {client}'s prefixes can't be read: the blob was written by something else");
        return new PrefixBlob(blob.Details.ETag.ToString("H"), new PrefixBitmap(blob.Content));
    }

    public Task<string?> WriteAsync(int client, PrefixBitmap prefixes, string? version, CancellationToken cancellationToken) =>
        BreachBlobs.Call<string?>($"writing of client {client}'s prefixes", async () =>
        {
            var conditions = version is null
                ? new BlobRequestConditions { IfNoneMatch = ETag.All } : new BlobRequestConditions { IfMatch = new ETag(version) };
            try
            {
                BlobContentInfo written = await Blob(client).UploadAsync(
                    new BinaryData(prefixes.Bytes), new BlobUploadOptions { Conditions = conditions }, cancellationToken);
                return written.ETag.ToString("H");
            }
            catch (RequestFailedException e) when (e.Status == 412 || e.ErrorCode == BlobErrorCode.BlobAlreadyExists
                || BreachBlobs.IsMissingBlob(e))
            {
                return null;
            }
        }, cancellationToken);

    public Task DeleteAsync(int client, CancellationToken cancellationToken) => BreachBlobs.Call($"deletion of client {client}'s prefixes",
        async () =>
        {
            try
            {
                return await Blob(client).DeleteIfExistsAsync(cancellationToken: cancellationToken);
            }
            catch (RequestFailedException e) when (e.ErrorCode == BlobErrorCode.ContainerNotFound)
            {
                return null!; // no client ever watched a prefix
            }
        }, cancellationToken);

    private BlobClient Blob(int client) => container.GetBlobClient(client.ToString(CultureInfo.InvariantCulture));
}
