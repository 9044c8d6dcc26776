using Azure.Storage.Blobs.Specialized;

namespace HibpIngest.Storage.Azure.Blobs;

internal sealed class BreachBlobs(BlobContainerClient container) : IBreachBlobs
{
    public Task CreateAsync(CancellationToken cancellationToken) => container.CreateIfMissingAsync(cancellationToken);

    public IAsyncEnumerable<BreachBlob> ListDropsAsync(CancellationToken cancellationToken) =>
        ListAsync(static name => BreachFiles.FormatOf(name) is not null, cancellationToken);

    public IAsyncEnumerable<BreachBlob> ListImagesAsync(CancellationToken cancellationToken) =>
        ListAsync(static name => name.EndsWith(".png", StringComparison.OrdinalIgnoreCase), cancellationToken);

    private IAsyncEnumerable<BreachBlob> ListAsync(Predicate<string> isMeant, CancellationToken cancellationToken) =>
        container.ListAsync(BlobTraits.Metadata, null, "listing breaches", isOptional: false, cancellationToken)
            .Where(blob => isMeant(blob.Name))
            .Select(blob => new BreachBlob(
                Version(blob.Name, blob.Properties.ETag!.Value), blob.Properties.ContentLength ?? 0,
                blob.Properties.LastModified ?? default)
            {
                Sha256 = Sha256Of(blob.Metadata),
            });

    // The operation omits the name, which isn't validated yet and must not be logged.
    public Task<BreachBlob?> FindAsync(string name, CancellationToken cancellationToken) =>
        StorageCall.FindAsync("looking up a breach's blob", async () =>
        {
            BlobProperties properties = await container.GetBlobClient(name).GetPropertiesAsync(null, cancellationToken);
            return new BreachBlob(Version(name, properties.ETag), properties.ContentLength, properties.LastModified)
            {
                Sha256 = Sha256Of(properties.Metadata),
            };
        }, StorageCall.IsMissingBlob, cancellationToken);

    public async Task<Stream> OpenAsync(BlobVersion version, CancellationToken cancellationToken)
    {
        var blob = container.GetBlobClient(version.Name);
        var properties = await StorageCall.FindAsync<BlobProperties>(
            $"opening blob '{version.Name}'",
            async () => await blob.GetPropertiesAsync(ContainerCalls.VersionIs(version.ETag), cancellationToken),
            e => StorageCall.IsConditionNotMet(e) || StorageCall.IsMissingBlob(e), cancellationToken)
            ?? throw new BlobSupersededException(version.Name);
        return new BlobVersionStream(blob, version, properties.ContentLength);
    }

    public Task<byte[]?> ReadSmallAsync(string name, int maxBytes, CancellationToken cancellationToken) =>
        StorageCall.FindAsync($"reading blob '{name}'", async () =>
        {
            using BlobDownloadStreamingResult download = await container.GetBlobClient(name).DownloadStreamingAsync(
                null, cancellationToken);
            if (download.Details.ContentLength > maxBytes)
                throw new BadInputException(
                    $"blob '{name}': expected at most {maxBytes} bytes, found {download.Details.ContentLength}");
            var content = new byte[download.Details.ContentLength];
            await download.Content.ReadExactlyAsync(content, cancellationToken);
            return content;
        }, StorageCall.IsMissingBlob, cancellationToken);

    public Task WriteSmallAsync(string name, ReadOnlyMemory<byte> content, CancellationToken cancellationToken) => StorageCall.RunAsync(
        $"writing blob '{name}'",
        () => container.GetBlobClient(name).UploadAsync(new BinaryData(content), overwrite: true, cancellationToken), cancellationToken);

    public async Task<BlobVersion> UploadAsync(
        string name, Stream content, IProgress<long>? progress, CancellationToken cancellationToken) =>
        Version(name, await BlockUpload.RunAsync(container.GetBlockBlobClient(name), content, progress, cancellationToken));

    private static string? Sha256Of(IDictionary<string, string>? metadata) =>
        metadata is not null && metadata.TryGetValue(BlockUpload.Sha256Key, out var hash) ? hash : null;

    /// <summary>Normalises the ETag: listings return it without quotes, all other calls with them.</summary>
    private static BlobVersion Version(string name, ETag etag) => new(name, etag.ToString("H"));
}
