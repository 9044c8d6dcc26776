namespace HibpIngest.Stores;

/// <summary>The container that breaches are dropped into.</summary>
public interface IBreachBlobs
{
    const string Container = "breach";
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Returns all breaches (by <see cref="BreachFiles"/>, in any folder) by name, page by page.</summary>
    IAsyncEnumerable<BreachBlob> ListDropsAsync(CancellationToken cancellationToken);

    /// <summary>Returns all images (.png, any case) by name, page by page.</summary>
    IAsyncEnumerable<BreachBlob> ListImagesAsync(CancellationToken cancellationToken);
    Task<BreachBlob?> FindAsync(string name, CancellationToken cancellationToken);

    /// <summary>
    /// Opens a version as a seekable stream for one reader, which reads ahead in ranges with If-Match and uses at most a few MiB of memory.
    /// Synchronous reads may block a thread. Disposing the stream from any thread aborts a pending read, which then throws. Reads throw
    /// <see cref="Errors.BlobSupersededException"/> if the version is no longer current, and <see cref="Errors.UnavailableException"/>
    /// if the retries are used up.
    /// </summary>
    Task<Stream> OpenAsync(BlobVersion version, CancellationToken cancellationToken);

    /// <summary>Returns the content of a small blob (at most <paramref name="maxBytes"/>).</summary>
    /// <exception cref="Errors.BadInputException">The blob is larger.</exception>
    Task<byte[]?> ReadSmallAsync(string name, int maxBytes, CancellationToken cancellationToken);

    /// <summary>Writes a small blob, replacing one of that name.</summary>
    Task WriteSmallAsync(string name, ReadOnlyMemory<byte> content, CancellationToken cancellationToken);

    /// <summary>
    /// Uploads a file in blocks and commits them at the end, so that no reader sees a partial file. Block ids are derived from position and
    /// content: an interrupted upload resumes with the blocks that the service already has. The SHA-256 of the whole file is stored in the
    /// blob's metadata.
    /// </summary>
    /// <param name="progress">Receives the number of bytes known to be uploaded.</param>
    Task<BlobVersion> UploadAsync(string name, Stream content, IProgress<long>? progress, CancellationToken cancellationToken);
}

public sealed record BreachBlob(BlobVersion Version, long Length, DateTimeOffset LastModified)
{
    /// <summary>
    /// SHA-256 of the content in lower-case hex, as claimed by the uploader: good for recognising a file, but no proof. Null if it was not
    /// uploaded by <see cref="IBreachBlobs.UploadAsync"/>.
    /// </summary>
    public string? Sha256 { get; init; }
}
