namespace HibpIngest.Stores;

/// <summary>
/// The container of the catalogue (see <see cref="Breaches.CatalogueDocuments"/>), from which readers get the breaches. Errors are those of
/// <see cref="IBreachDatabase"/>.
/// </summary>
public interface ICatalogueBlobs
{
    const string Container = "catalogue";
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Returns a blob as it is stored.</summary>
    /// <param name="knownETag">If the blob still has this ETag, its content is not read: <see cref="CatalogueBlob.IsUnchanged"/>.</param>
    Task<CatalogueBlob?> ReadAsync(string name, string? knownETag, CancellationToken cancellationToken);

    /// <summary>
    /// Writes a blob, unless the stored one has a newer version or the same content (<see cref="CatalogueContent.Tag"/>), whose ETag is
    /// then kept. Uses If-Match: of two concurrent writers, the newer version wins.
    /// </summary>
    /// <returns>False if the stored blob has a newer version.</returns>
    Task<bool> WriteAsync(string name, long version, CatalogueContent content, CancellationToken cancellationToken);

    /// <summary>Returns the blobs whose names start with a prefix, page by page.</summary>
    IAsyncEnumerable<CatalogueEntry> ListAsync(string prefix, CancellationToken cancellationToken);

    /// <summary>Deletes a blob if its ETag still matches.</summary>
    Task DeleteAsync(string name, string etag, CancellationToken cancellationToken);
}

/// <param name="Bytes">Content as it is stored: JSON is gzipped, a logo is not.</param>
/// <param name="IsGzip">Stored with Content-Encoding gzip.</param>
/// <param name="Tag">Identifies the content: equal for equal content, ASCII; stored with the blob.</param>
public sealed record CatalogueContent(ReadOnlyMemory<byte> Bytes, string ContentType, bool IsGzip, string Tag);

/// <param name="Version">The catalogue's version when the blob was written; 0 if another program wrote it.</param>
public sealed record CatalogueEntry(string Name, long Version, string Tag, string ETag);

/// <param name="Version">The catalogue's version when the blob was written.</param>
/// <param name="Bytes">Content as it is stored; empty if unchanged.</param>
/// <param name="IsUnchanged">The blob still has the known ETag.</param>
public sealed record CatalogueBlob(string ETag, long Version, ReadOnlyMemory<byte> Bytes, bool IsUnchanged);
