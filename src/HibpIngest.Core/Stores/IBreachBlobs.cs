using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>The container that breaches are dropped into.</summary>
public interface IBreachBlobs
{
    const string Container = "breach";

    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>All breaches (by <see cref="BreachFiles"/>, in any folder), by name, page by page.</summary>
    IAsyncEnumerable<BreachBlob> ListDropsAsync(CancellationToken cancellationToken);

    /// <summary>All images (name ends in .png, any case), by name, page by page.</summary>
    IAsyncEnumerable<BreachBlob> ListImagesAsync(CancellationToken cancellationToken);

    /// <summary>The present version of a blob; null where there is none.</summary>
    Task<BreachBlob?> FindAsync(string name, CancellationToken cancellationToken);

    /// <summary>
    /// That version as a seekable stream for one reader, read ahead in ranges with If-Match; memory bounded by
    /// a few MiB. Its synchronous reads may block a thread. Disposing it, from whatever thread, ends a read
    /// that is under way, which then throws. Reads throw <see cref="Errors.BlobSupersededException"/> when the
    /// version is gone, <see cref="Errors.StoreUnavailableException"/> when retries are used up.
    /// </summary>
    Task<Stream> OpenAsync(BlobVersion version, CancellationToken cancellationToken);

    /// <summary>The content of a small blob (at most <paramref name="maxBytes"/>); null where there is none.</summary>
    /// <exception cref="Errors.BadInputException">It is larger.</exception>
    Task<byte[]?> ReadSmallAsync(string name, int maxBytes, CancellationToken cancellationToken);

    /// <summary>Writes a small blob, replacing one of that name.</summary>
    Task WriteSmallAsync(string name, ReadOnlyMemory<byte> content, CancellationToken cancellationToken);

    /// <summary>
    /// Uploads a file in blocks and commits them at the end, so that nobody sees a part. Block ids come from
    /// position and content: an upload that was broken off goes on with the blocks the service has already. The
    /// SHA-256 of all of it goes into the blob's metadata.
    /// </summary>
    /// <param name="progress">Bytes known to be there.</param>
    Task<BlobVersion> UploadAsync(string name, Stream content, IProgress<long>? progress, CancellationToken cancellationToken);
}

public sealed record BreachBlob(BlobVersion Version, long Length, DateTimeOffset LastModified)
{
    /// <summary>
    /// SHA-256 of its content in lower-case hex, as whoever uploaded it says: good for recognising a file, no proof of
    /// anything. Null where it was not put there by <see cref="IBreachBlobs.UploadAsync"/>.
    /// </summary>
    public string? Sha256 { get; init; }
}
