using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;

namespace HibpIngest.Storage.Azure.Blobs;

/// <param name="Details">Null: the blob is unchanged.</param>
internal sealed record BlobDownload(BlobDownloadDetails? Details, byte[] Content)
{
    /// <summary>Reads a whole blob.</summary>
    /// <param name="knownETag">Nothing is read if the blob still has this ETag.</param>
    /// <returns>Null if the blob doesn't exist.</returns>
    public static Task<BlobDownload?> RunAsync(
        BlobClient blob, string operation, string? knownETag, CancellationToken cancellationToken) => RunAsync(
            blob, operation,
            new BlobDownloadOptions
            {
                Conditions = knownETag is null ? null : new BlobRequestConditions { IfNoneMatch = new ETag(knownETag) },
            },
            cancellationToken);

    /// <summary>Reads the part of a blob that the options name.</summary>
    /// <returns>Null if the blob doesn't exist.</returns>
    public static Task<BlobDownload?> RunAsync(
        BlobClient blob, string operation, BlobDownloadOptions options, CancellationToken cancellationToken) =>
        BreachBlobs.Call<BlobDownload?>(operation, async () =>
        {
            try
            {
                var answer = await blob.DownloadStreamingAsync(options, cancellationToken);
                // The client library returns 304 as a response without a value, not as an error.
                if (answer.GetRawResponse().Status == 304)
                    return new BlobDownload(null, []);
                using var download = answer.Value;
                var content = new byte[download.Details.ContentLength];
                await download.Content.ReadExactlyAsync(content, cancellationToken);
                return new BlobDownload(download.Details, content);
            }
            catch (RequestFailedException e) when (BreachBlobs.IsMissingBlob(e))
            {
                return null;
            }
        }, cancellationToken);
}
