using System.Globalization;
using System.Runtime.CompilerServices;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;

namespace HibpIngest.Storage.Azure.Blobs;

/// <summary>The catalogue's container. Each blob's metadata holds the catalogue's version and the content's tag.</summary>
internal sealed class CatalogueBlobs(BlobContainerClient container) : ICatalogueBlobs
{
    private const string Version = "version";
    private const string Tag = "tag";

    // 300 s: long enough to spare readers that use a cache, short enough that a hidden breach soon disappears from one.
    private const string CacheControl = "public, max-age=300";

    public Task CreateAsync(CancellationToken cancellationToken) =>
        container.CreateIfMissingAsync("creation of the catalogue's container", cancellationToken);

    public async Task<CatalogueBlob?> ReadAsync(string name, string? knownETag, CancellationToken cancellationToken) =>
        await BlobDownload.RunAsync(
            container.GetBlobClient(name), $"reading of catalogue blob '{name}'", knownETag, cancellationToken) is not { } blob ? null
            : blob.Details is null ? new CatalogueBlob(knownETag!, 0, ReadOnlyMemory<byte>.Empty, IsUnchanged: true)
            : new CatalogueBlob(blob.Details.ETag.ToString("H"), VersionOf(blob.Details.Metadata), blob.Content, IsUnchanged: false);

    public Task<bool> WriteAsync(string name, long version, CatalogueContent content, CancellationToken cancellationToken) =>
        BreachBlobs.Call($"writing of catalogue blob '{name}'", async () =>
    {
        var blob = container.GetBlobClient(name);
        while (true)
        {
            var there = await FindAsync(blob, cancellationToken);
            if (there is not null && VersionOf(there.Metadata) > version)
                return false;
            if (there is not null && TagOf(there.Metadata) == content.Tag)
                return true;
            try
            {
                await blob.UploadAsync(
                    new BinaryData(content.Bytes),
                    new BlobUploadOptions
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
                        Conditions = there is null
                            ? new BlobRequestConditions { IfNoneMatch = ETag.All } : new BlobRequestConditions { IfMatch = there.ETag },
                    },
                    cancellationToken);
                return true;
            }
            catch (RequestFailedException e) when (e.Status == 412 || e.ErrorCode == BlobErrorCode.BlobAlreadyExists
                || BreachBlobs.IsMissingBlob(e))
            {
                // Another writer was first, or the response to this write was lost: the loop decides by the blob that exists now.
            }
        }
    }, cancellationToken);

    public async IAsyncEnumerable<CatalogueEntry> ListAsync(string prefix, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        await foreach (var blob in container.ListAsync(
            BlobTraits.Metadata, prefix, "listing of the catalogue", isOptional: false, cancellationToken))
        {
            yield return new CatalogueEntry(
                blob.Name, VersionOf(blob.Metadata), TagOf(blob.Metadata), blob.Properties.ETag!.Value.ToString("H"));
        }
    }

    public Task DeleteAsync(string name, string etag, CancellationToken cancellationToken) =>
        BreachBlobs.Call($"deletion of catalogue blob '{name}'", async () =>
    {
        try
        {
            await container.GetBlobClient(name).DeleteIfExistsAsync(
                DeleteSnapshotsOption.IncludeSnapshots, new BlobRequestConditions { IfMatch = new ETag(etag) }, cancellationToken);
        }
        catch (RequestFailedException e) when (e.Status == 412)
        {
            // Another version was written meanwhile, which must stay.
        }
        return true;
    }, cancellationToken);

    private static async Task<BlobProperties?> FindAsync(BlobClient blob, CancellationToken cancellationToken)
    {
        try
        {
            return await blob.GetPropertiesAsync(null, cancellationToken);
        }
        catch (RequestFailedException e) when (BreachBlobs.IsMissingBlob(e))
        {
            return null;
        }
    }

    private static long VersionOf(IDictionary<string, string> metadata) =>
        metadata.TryGetValue(Version, out var text) && long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var version)
            ? version : 0;

    private static string TagOf(IDictionary<string, string> metadata) => metadata.TryGetValue(Tag, out var tag) ? tag : "";
}
