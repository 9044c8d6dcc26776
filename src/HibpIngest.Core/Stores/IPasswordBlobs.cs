namespace HibpIngest.Stores;

/// <summary>
/// The container of Pwned Passwords: releases, and which of them is served (docs/passwords.md has the names). Errors as for
/// <see cref="IBreachDatabase"/>.
/// </summary>
public interface IPasswordBlobs : IGrowingBlobs
{
    const string Container = "passwords";

    /// <summary>In place of a version: whatever is there, or nothing.</summary>
    const string Anything = "*";

    /// <summary>Creates the container where it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>A blob, whole; null where there is none.</summary>
    /// <param name="knownETag">Where the blob still is this one, nothing is read: <see cref="PasswordBlob.IsUnchanged"/>.</param>
    Task<PasswordBlob?> ReadAsync(string name, string? knownETag, CancellationToken cancellationToken);

    /// <summary>Part of a blob; null where it is gone, or is no longer this version (If-Match).</summary>
    /// <param name="length">How many; the blob has them all.</param>
    Task<PasswordBlob?> ReadPartAsync(string name, string etag, long offset, int length, CancellationToken cancellationToken);

    /// <summary>Which version of a blob there is; null where there is none.</summary>
    Task<PasswordBlobVersion?> FindAsync(string name, CancellationToken cancellationToken);

    /// <summary>Writes a blob whole, with one request.</summary>
    /// <param name="replaces">
    /// The version that it takes the place of; null: there is none of that name; or <see cref="Anything"/>.
    /// </param>
    /// <returns>Its version; null where another one stands there by now, and nothing was written.</returns>
    Task<string?> WriteAsync(string name, PasswordContent content, string? replaces, CancellationToken cancellationToken);

    /// <summary>Writes a large blob in blocks; it is there whole, or not at all.</summary>
    /// <param name="replaces">As in <see cref="WriteAsync"/>.</param>
    /// <returns>As there.</returns>
    Task<string?> UploadAsync(string name, Stream content, string? replaces, CancellationToken cancellationToken);

    /// <summary>Names of the blobs that begin so.</summary>
    IAsyncEnumerable<string> ListAsync(string prefix, CancellationToken cancellationToken);

    /// <summary>What comes next in names that begin so, up to a slash: as the folders of a folder.</summary>
    IAsyncEnumerable<string> ListFoldersAsync(string prefix, CancellationToken cancellationToken);

    /// <summary>Deletes a blob, if there is one.</summary>
    Task DeleteAsync(string name, CancellationToken cancellationToken);

    /// <summary>Deletes a blob that is still this version; nothing happens where it is another one, or gone.</summary>
    Task DeleteAsync(string name, string etag, CancellationToken cancellationToken);
}

/// <param name="Bytes">As stored; empty where it is unchanged.</param>
/// <param name="IsUnchanged">It still is the one that was known.</param>
public sealed record PasswordBlob(string ETag, DateTimeOffset LastModified, ReadOnlyMemory<byte> Bytes, bool IsUnchanged)
{
    /// <summary>MD5 of <see cref="Bytes"/>, as the store says; null: it doesn't.</summary>
    public byte[]? Md5 { get; init; }

    /// <summary>What was written beside the bytes (<see cref="PasswordContent.Note"/>).</summary>
    public string? Note { get; init; }
}

public sealed record PasswordBlobVersion(string ETag, long Length);

/// <param name="IsGzip">It is stored with Content-Encoding gzip.</param>
public sealed record PasswordContent(ReadOnlyMemory<byte> Bytes, string ContentType, bool IsGzip)
{
    /// <summary>
    /// Kept beside the bytes, as the blob's metadata: at most some 8,000 ASCII characters
    /// (learn.microsoft.com/rest/api/storageservices/setting-and-retrieving-properties-and-metadata-for-blob-resources).
    /// </summary>
    public string? Note { get; init; }

    /// <summary>JSON as it is.</summary>
    public static PasswordContent Json(ReadOnlyMemory<byte> bytes) => new(bytes, "application/json", IsGzip: false);

    /// <summary>Bytes of a format of ours.</summary>
    public static PasswordContent Binary(ReadOnlyMemory<byte> bytes) => new(bytes, "application/octet-stream", IsGzip: false);

    /// <summary>A range as it is sent.</summary>
    public static PasswordContent Range(ReadOnlyMemory<byte> gzip) => new(gzip, "text/plain", IsGzip: true);
}
