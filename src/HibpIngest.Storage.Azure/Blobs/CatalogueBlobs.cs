namespace HibpIngest.Storage.Azure.Blobs;

/// <summary>The catalogue's container. Each blob's metadata holds the catalogue's version and the content's tag.</summary>
internal sealed class CatalogueBlobs(BlobContainerClient container) : ICatalogueBlobs
{
    private const string Version = "version";
    private const string Tag = "tag";

    // 300 s: long enough to spare readers that use a cache, short enough that a hidden breach soon disappears from one.
    private const string CacheControl = "public, max-age=300";

    public Task CreateAsync(CancellationToken cancellationToken) => container.CreateIfMissingAsync(cancellationToken);

    public async Task<CatalogueBlob?> ReadAsync(string name, string? knownETag, CancellationToken cancellationToken) =>
        await BlobDownload.RunAsync(
            container.GetBlobClient(name), $"reading catalogue blob '{name}'", knownETag, cancellationToken) is not { } blob ? null
            : blob.Details is null ? new CatalogueBlob(knownETag!, 0, ReadOnlyMemory<byte>.Empty, IsUnchanged: true)
            : new CatalogueBlob(blob.Details.ETag.ToString("H"), VersionOf(blob.Details.Metadata), blob.Content, IsUnchanged: false);

    public async Task<bool> WriteAsync(string name, long version, CatalogueContent content, CancellationToken cancellationToken)
    {
        var operation = $"writing catalogue blob '{name}'";
        var options = new BlobUploadOptions
        {
            HttpHeaders = new BlobHttpHeaders
            {
                ContentType = content.ContentType,
                ContentEncoding = content.IsGzip ? "gzip" : null,
                CacheControl = CacheControl,
            },
            Metadata = new Dictionary<string, string>
            {
                [Version] = version.ToString(CultureInfo.InvariantCulture),
                [Tag] = content.Tag,
            },
        };
        while (true)
        {
            var existing = await StorageCall.FindAsync<BlobProperties>(
                operation, async () => await container.GetBlobClient(name).GetPropertiesAsync(null, cancellationToken),
                StorageCall.IsMissingBlob, cancellationToken);
            if (existing is not null && VersionOf(existing.Metadata) > version)
                return false;
            if (existing is not null && TagOf(existing.Metadata) == content.Tag)
                return true;
            options.Conditions = ContainerCalls.VersionIs(existing?.ETag.ToString("H"));
            // The result is null if another writer was first, or the response to this write was lost. The loop decides by the blob that
            // exists now.
            if (await container.TryUploadAsync(name, content.Bytes, options, operation, cancellationToken) is not null)
                return true;
        }
    }

    public IAsyncEnumerable<CatalogueEntry> ListAsync(string prefix, CancellationToken cancellationToken) =>
        container.ListAsync(BlobTraits.Metadata, prefix, "listing the catalogue", isOptional: false, cancellationToken)
            .Select(blob => new CatalogueEntry(
                blob.Name, VersionOf(blob.Metadata), TagOf(blob.Metadata), blob.Properties.ETag!.Value.ToString("H")));

    public Task DeleteAsync(string name, string etag, CancellationToken cancellationToken) => container.DeleteVersionAsync(
        name, etag, $"deleting catalogue blob '{name}'", cancellationToken, DeleteSnapshotsOption.IncludeSnapshots);

    private static long VersionOf(IDictionary<string, string> metadata) =>
        metadata.TryGetValue(Version, out var text) && long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var version)
            ? version : 0;

    private static string TagOf(IDictionary<string, string> metadata) => metadata.TryGetValue(Tag, out var tag) ? tag : "";
}
