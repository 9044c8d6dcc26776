namespace HibpIngest.Stores;

/// <summary>
/// Where the account log lies: blobs that are written once, whole, and never changed (docs/account-log.md has the
/// names). Errors as for <see cref="IBreachDatabase"/>.
/// </summary>
public interface IAccountLogBlobs
{
    const string Container = "account-log";

    /// <summary>Creates the container where it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>The blobs whose names begin so, by name; none where there is no container yet.</summary>
    IAsyncEnumerable<LogBlob> ListAsync(string prefix, CancellationToken cancellationToken);

    /// <summary>Bytes of a blob; null where there is none.</summary>
    Task<long?> FindAsync(string name, CancellationToken cancellationToken);

    /// <summary>
    /// Opens a part of a blob to be read forward, as one stream: three times as fast as asking for one range after
    /// the other.
    /// </summary>
    /// <param name="length">How many; the stream may end sooner where the blob does.</param>
    /// <returns>Null where there is no such blob.</returns>
    Task<Stream?> OpenAsync(string name, long offset, long length, CancellationToken cancellationToken);

    /// <summary>Writes a small blob whole, with one request.</summary>
    /// <returns>False where one of that name is there already (If-None-Match): nothing was written.</returns>
    Task<bool> WriteAsync(string name, ReadOnlyMemory<byte> content, CancellationToken cancellationToken);

    /// <summary>Writes a large blob; it is there whole, or not at all.</summary>
    /// <param name="content">Read once, forward, to its end.</param>
    /// <param name="cancellationToken">Stops it; nothing is there then.</param>
    /// <returns>As <see cref="WriteAsync"/>.</returns>
    Task<bool> UploadAsync(string name, Stream content, CancellationToken cancellationToken);

    /// <summary>Deletes a blob, if there is one.</summary>
    Task DeleteAsync(string name, CancellationToken cancellationToken);
}

public sealed record LogBlob(string Name, long Length);
