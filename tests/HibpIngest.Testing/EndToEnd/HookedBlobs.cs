namespace HibpIngest.Testing;

/// <summary>Real blobs with a hook that runs before a zip is opened.</summary>
internal sealed class HookedBlobs(IBreachBlobs real, Func<Task> beforeOpen) : IBreachBlobs
{
    public Task CreateAsync(CancellationToken cancellationToken) => real.CreateAsync(cancellationToken);

    public IAsyncEnumerable<BreachBlob> ListDropsAsync(CancellationToken cancellationToken) => real.ListDropsAsync(cancellationToken);

    public IAsyncEnumerable<BreachBlob> ListImagesAsync(CancellationToken cancellationToken) => real.ListImagesAsync(cancellationToken);

    public Task<BreachBlob?> FindAsync(string name, CancellationToken cancellationToken) => real.FindAsync(name, cancellationToken);

    public async Task<Stream> OpenAsync(BlobVersion version, CancellationToken cancellationToken)
    {
        await beforeOpen();
        return await real.OpenAsync(version, cancellationToken);
    }

    public Task<byte[]?> ReadSmallAsync(string name, int maxBytes, CancellationToken cancellationToken) =>
        real.ReadSmallAsync(name, maxBytes, cancellationToken);

    public Task WriteSmallAsync(string name, ReadOnlyMemory<byte> content, CancellationToken cancellationToken) =>
        real.WriteSmallAsync(name, content, cancellationToken);

    public Task<BlobVersion> UploadAsync(string name, Stream content, IProgress<long>? progress, CancellationToken cancellationToken) =>
        real.UploadAsync(name, content, progress, cancellationToken);
}
