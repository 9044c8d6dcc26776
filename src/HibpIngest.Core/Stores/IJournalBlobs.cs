namespace HibpIngest.Stores;

/// <summary>
/// The journal: blobs that are written once and never changed (docs/journal.md specifies the names). Errors are those of
/// <see cref="IBreachDatabase"/>.
/// </summary>
public interface IJournalBlobs
{
    const string Container = "account-log";
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Returns the blobs whose names start with a prefix, by name; none if the container does not exist.</summary>
    IAsyncEnumerable<JournalBlob> ListAsync(string prefix, CancellationToken cancellationToken);

    /// <summary>Returns the length of a blob in bytes.</summary>
    Task<long?> FindAsync(string name, CancellationToken cancellationToken);

    /// <summary>Opens a part of a blob for reading forward, as one stream: three times as fast as one request per range.</summary>
    /// <param name="length">Number of bytes; the stream ends earlier if the blob does.</param>
    Task<Stream?> OpenAsync(string name, long offset, long length, CancellationToken cancellationToken);

    /// <summary>Writes a small blob with one request.</summary>
    /// <returns>False if a blob of that name exists (If-None-Match): nothing was written.</returns>
    Task<bool> WriteAsync(string name, ReadOnlyMemory<byte> content, CancellationToken cancellationToken);

    /// <summary>Writes a large blob atomically. After cancellation there is no blob.</summary>
    /// <param name="content">Read once, forward, to its end.</param>
    /// <returns>The same as <see cref="WriteAsync"/>.</returns>
    Task<bool> UploadAsync(string name, Stream content, CancellationToken cancellationToken);
    Task DeleteAsync(string name, CancellationToken cancellationToken);
}

public sealed record JournalBlob(string Name, long Length);
