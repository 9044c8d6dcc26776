using Azure;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;

namespace HibpIngest.AzureStorage.Blobs;

/// <summary>A blob, or part of one, in memory.</summary>
/// <param name="Details">Null: it still is the one that was known.</param>
internal sealed record BlobDownload(BlobDownloadDetails? Details, byte[] Content)
{
    /// <summary>Reads a blob whole; null where there is none.</summary>
    /// <param name="knownETag">Where the blob still is this one, nothing is read.</param>
    public static Task<BlobDownload?> RunAsync(
        BlobClient blob, string operation, string? knownETag, CancellationToken cancellationToken) => RunAsync(
            blob, operation,
            new BlobDownloadOptions
            {
                Conditions = knownETag is null ? null : new BlobRequestConditions { IfNoneMatch = new ETag(knownETag) },
            },
            cancellationToken);

    /// <summary>Reads what the options say; null where there is no such blob.</summary>
    public static Task<BlobDownload?> RunAsync(
        BlobClient blob, string operation, BlobDownloadOptions options, CancellationToken cancellationToken) =>
        BreachBlobs.Call<BlobDownload?>(operation, async () =>
        {
            try
            {
                var answer = await blob.DownloadStreamingAsync(options, cancellationToken);
                // No error to the client library, but an answer without a value.
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
