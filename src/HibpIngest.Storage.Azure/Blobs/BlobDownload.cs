namespace HibpIngest.Storage.Azure.Blobs;

/// <param name="Details">Properties of the blob. Null if it is unchanged.</param>
internal sealed record BlobDownload(BlobDownloadDetails? Details, byte[] Content)
{
    /// <param name="knownETag">Nothing is read if the blob still has this ETag.</param>
    /// <param name="isOptional">True if a container that doesn't exist counts as an empty one.</param>
    /// <returns>Null if the blob doesn't exist.</returns>
    public static Task<BlobDownload?> RunAsync(
        BlobClient blob, string operation, string? knownETag, CancellationToken cancellationToken, bool isOptional = false) => RunAsync(
            blob, operation,
            new BlobDownloadOptions { Conditions = knownETag is null ? null : new() { IfNoneMatch = new ETag(knownETag) } },
            cancellationToken, isOptional);

    /// <returns>Null if the blob doesn't exist or has another ETag.</returns>
    public static async Task<BlobDownload?> ReadRangeAsync(
        BlobClient blob, string operation, long offset, int length, string etag, CancellationToken cancellationToken)
    {
        try
        {
            return await RunAsync(
                blob, operation,
                new BlobDownloadOptions { Range = new HttpRange(offset, length), Conditions = ContainerCalls.VersionIs(etag) },
                cancellationToken);
        }
        catch (EntityChangedException)
        {
            return null;
        }
    }

    public static Task<BlobDownload?> RunAsync(
        BlobClient blob, string operation, BlobDownloadOptions options, CancellationToken cancellationToken, bool isOptional = false) =>
        StorageCall.FindAsync(operation, async () =>
        {
            var response = await blob.DownloadStreamingAsync(options, cancellationToken);
            // The client library returns 304 as a response without a value, not as an error.
            if (response.GetRawResponse().Status == 304)
                return new BlobDownload(null, []);
            using var download = response.Value;
            var content = new byte[download.Details.ContentLength];
            await download.Content.ReadExactlyAsync(content, cancellationToken);
            return new BlobDownload(download.Details, content);
        }, isOptional ? StorageCall.IsNotFound : StorageCall.IsMissingBlob, cancellationToken);
}
