using System.Runtime.CompilerServices;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using Azure.Storage.Blobs.Specialized;

namespace HibpIngest.Storage.Azure.Blobs;

internal sealed class BreachBlobs(BlobContainerClient container) : IBreachBlobs
{
    public Task CreateAsync(CancellationToken cancellationToken) =>
        container.CreateIfMissingAsync("creation of the container", cancellationToken);

    public IAsyncEnumerable<BreachBlob> ListDropsAsync(CancellationToken cancellationToken) =>
        ListAsync(static name => BreachFiles.FormatOf(name) is not null, cancellationToken);

    public IAsyncEnumerable<BreachBlob> ListImagesAsync(CancellationToken cancellationToken) =>
        ListAsync(static name => name.EndsWith(".png", StringComparison.OrdinalIgnoreCase), cancellationToken);

    private async IAsyncEnumerable<BreachBlob> ListAsync(
        Predicate<string> isMeant, [EnumeratorCancellation] CancellationToken cancellationToken)
    {
        await foreach (var blob in container.ListAsync(
            BlobTraits.Metadata, null, "listing of breaches", isOptional: false, cancellationToken))
        {
            if (!isMeant(blob.Name))
                continue;
            yield return new BreachBlob(
                Version(blob.Name, blob.Properties.ETag!.Value), blob.Properties.ContentLength ?? 0,
                blob.Properties.LastModified ?? default)
            {
                Sha256 = Sha256Of(blob.Metadata),
            };
        }
    }

    // Without the name, which isn't validated yet and may not be logged.
    public Task<BreachBlob?> FindAsync(string name, CancellationToken cancellationToken) =>
        Call<BreachBlob?>("look-up of a breach's blob", async () =>
    {
        try
        {
            BlobProperties properties = await container.GetBlobClient(name).GetPropertiesAsync(null, cancellationToken);
            return new BreachBlob(Version(name, properties.ETag), properties.ContentLength, properties.LastModified)
            {
                Sha256 = Sha256Of(properties.Metadata),
            };
        }
        catch (RequestFailedException e) when (IsMissingBlob(e))
        {
            return null;
        }
    }, cancellationToken);

    public Task<Stream> OpenAsync(BlobVersion version, CancellationToken cancellationToken) =>
        Call<Stream>($"opening of blob '{version.Name}'", async () =>
    {
        var blob = container.GetBlobClient(version.Name);
        try
        {
            BlobProperties properties = await blob.GetPropertiesAsync(
                new BlobRequestConditions { IfMatch = new ETag(version.ETag) }, cancellationToken);
            return new BlobVersionStream(blob, version, properties.ContentLength);
        }
        catch (RequestFailedException e) when (e.Status == 412 || IsMissingBlob(e))
        {
            throw new BlobSupersededException(version.Name);
        }
    }, cancellationToken);

    public Task<byte[]?> ReadSmallAsync(string name, int maxBytes, CancellationToken cancellationToken) =>
        Call<byte[]?>($"reading of blob '{name}'", async () =>
    {
        try
        {
            using BlobDownloadStreamingResult download = await container.GetBlobClient(name).DownloadStreamingAsync(
                null, cancellationToken);
            if (download.Details.ContentLength > maxBytes)
                throw new BadInputException(
                    $"blob '{name}' has {download.Details.ContentLength} bytes, and at most {maxBytes} were expected");
            var content = new byte[download.Details.ContentLength];
            await download.Content.ReadExactlyAsync(content, cancellationToken);
            return content;
        }
        catch (RequestFailedException e) when (IsMissingBlob(e))
        {
            return null;
        }
    }, cancellationToken);

    public Task WriteSmallAsync(string name, ReadOnlyMemory<byte> content, CancellationToken cancellationToken) =>
        Call($"writing of blob '{name}'", async () =>
    {
        await container.GetBlobClient(name).UploadAsync(new BinaryData(content), overwrite: true, cancellationToken);
        return true;
    }, cancellationToken);

    public async Task<BlobVersion> UploadAsync(
        string name, Stream content, IProgress<long>? progress, CancellationToken cancellationToken) =>
        Version(name, await BlockUpload.RunAsync(container.GetBlockBlobClient(name), content, progress, cancellationToken));

    private static string? Sha256Of(IDictionary<string, string>? metadata) =>
        metadata is not null && metadata.TryGetValue(BlockUpload.Sha256Key, out var hash) ? hash : null;

    /// <summary>Normalises the ETag: listings return it without quotes, all other calls with them.</summary>
    internal static BlobVersion Version(string name, ETag etag) => new(name, etag.ToString("H"));

    internal static bool IsMissingBlob(RequestFailedException e) => e.Status == 404 && e.ErrorCode != BlobErrorCode.ContainerNotFound;

    internal static async Task<T> Call<T>(string what, Func<Task<T>> call, CancellationToken cancellationToken)
    {
        try
        {
            return await call();
        }
        catch (Exception e)
        {
            var mapped = StorageErrors.Map(e, what, cancellationToken);
            if (ReferenceEquals(mapped, e))
                throw;
            throw mapped;
        }
    }
}
