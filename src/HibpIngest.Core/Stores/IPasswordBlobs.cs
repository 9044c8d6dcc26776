namespace HibpIngest.Stores;

/// <summary>
/// The container of Pwned Passwords: the releases, and which one is served (docs/passwords.md specifies the names). Errors are those of
/// <see cref="IBreachDatabase"/>.
/// </summary>
public interface IPasswordBlobs
{
    const string Container = "passwords";

    /// <summary>Used instead of a version: matches any version, and a missing blob.</summary>
    const string AnyVersion = "*";

    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Reads a whole blob.</summary>
    /// <param name="knownETag">If the blob still has this ETag, its content is not read: <see cref="PasswordBlob.IsUnchanged"/>.</param>
    Task<PasswordBlob?> ReadAsync(string name, string? knownETag, CancellationToken cancellationToken);

    /// <summary>Reads part of a blob.</summary>
    /// <param name="length">Number of bytes, all of which must exist.</param>
    /// <returns>Null if the blob was deleted, or is no longer this version (If-Match).</returns>
    Task<PasswordBlob?> ReadPartAsync(string name, string etag, long offset, int length, CancellationToken cancellationToken);

    Task<PasswordBlobVersion?> FindAsync(string name, CancellationToken cancellationToken);

    /// <summary>Writes a whole blob with one request.</summary>
    /// <param name="replaces">
    /// The version to replace. Null to write only if the blob is missing; <see cref="AnyVersion"/> to write unconditionally.
    /// </param>
    /// <returns>Its version. Null if there was another version, and nothing was written.</returns>
    Task<string?> WriteAsync(string name, PasswordContent content, string? replaces, CancellationToken cancellationToken);

    /// <summary>Writes a large blob in blocks, atomically.</summary>
    /// <param name="replaces">As for <see cref="WriteAsync"/>.</param>
    /// <returns>The same as <see cref="WriteAsync"/>.</returns>
    Task<string?> UploadAsync(string name, Stream content, string? replaces, CancellationToken cancellationToken);

    /// <summary>Returns the names of the blobs that start with a prefix.</summary>
    IAsyncEnumerable<string> ListAsync(string prefix, CancellationToken cancellationToken);

    /// <summary>Returns the names of the folders directly under a prefix.</summary>
    IAsyncEnumerable<string> ListFoldersAsync(string prefix, CancellationToken cancellationToken);

    Task DeleteAsync(string name, CancellationToken cancellationToken);

    /// <summary>Deletes a blob if its ETag still matches; otherwise does nothing.</summary>
    Task DeleteAsync(string name, string etag, CancellationToken cancellationToken);

    /// <summary>Appends bytes to a blob, which is created if it is missing.</summary>
    /// <returns>The number of appends so far; the service allows 50,000
    /// (learn.microsoft.com/rest/api/storageservices/append-block).</returns>
    Task<int> AppendAsync(string name, ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken);

    /// <summary>Returns the content of an append blob from an offset on. Empty if nothing has been appended there yet.</summary>
    /// <returns>Null if there is no blob.</returns>
    Task<ReadOnlyMemory<byte>?> ReadFromAsync(string name, long offset, int limit, CancellationToken cancellationToken);
}

/// <param name="Bytes">Content as it is stored; empty if unchanged.</param>
/// <param name="IsUnchanged">The blob still has the known ETag.</param>
public sealed record PasswordBlob(string ETag, DateTimeOffset LastModified, ReadOnlyMemory<byte> Bytes, bool IsUnchanged)
{
    /// <summary>MD5 of <see cref="Bytes"/>, as reported by the store. Null if not reported.</summary>
    public byte[]? Md5 { get; init; }

    /// <summary>See <see cref="PasswordContent.Note"/>.</summary>
    public string? Note { get; init; }
}

public sealed record PasswordBlobVersion(string ETag, long Length);

/// <param name="IsGzip">Stored with Content-Encoding gzip.</param>
public sealed record PasswordContent(ReadOnlyMemory<byte> Bytes, string ContentType, bool IsGzip)
{
    /// <summary>
    /// Stored as metadata of the blob: at most some 8,000 ASCII characters
    /// (learn.microsoft.com/rest/api/storageservices/setting-and-retrieving-properties-and-metadata-for-blob-resources).
    /// </summary>
    public string? Note { get; init; }

    public static PasswordContent Json(ReadOnlyMemory<byte> bytes) => new(bytes, "application/json", IsGzip: false);

    public static PasswordContent Binary(ReadOnlyMemory<byte> bytes) => new(bytes, "application/octet-stream", IsGzip: false);

    public static PasswordContent Range(ReadOnlyMemory<byte> gzip) => new(gzip, "text/plain", IsGzip: true);
}
