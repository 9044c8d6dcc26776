namespace HibpIngest.Stores;

/// <summary>
/// The container that readers have the breaches from (see <see cref="Breaches.CatalogueDocuments"/>). Errors as for
/// <see cref="IBreachDatabase"/>.
/// </summary>
public interface ICatalogueBlobs
{
    const string Container = "catalogue";

    /// <summary>Creates the container where it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>A blob as it is stored; null where there is none.</summary>
    /// <param name="knownETag">Where the blob still is this one, nothing is read: <see cref="CatalogueBlob.IsUnchanged"/>.</param>
    Task<CatalogueBlob?> ReadAsync(string name, string? knownETag, CancellationToken cancellationToken);

    /// <summary>
    /// Writes a blob unless what is there is of a newer version, or is the same (<see cref="CatalogueContent.Tag"/>), so that
    /// its ETag stays; under If-Match, so that of two writers the newer version stays.
    /// </summary>
    /// <returns>False: what is there is of a newer version.</returns>
    Task<bool> WriteAsync(string name, long version, CatalogueContent content, CancellationToken cancellationToken);

    /// <summary>The blobs whose names begin so, page by page.</summary>
    IAsyncEnumerable<CatalogueEntry> ListAsync(string prefix, CancellationToken cancellationToken);

    /// <summary>Deletes a blob, if it still is this one.</summary>
    Task DeleteAsync(string name, string etag, CancellationToken cancellationToken);
}

/// <param name="Bytes">As stored: JSON is gzipped, a logo is not.</param>
/// <param name="IsGzip">It is stored with Content-Encoding gzip.</param>
/// <param name="Tag">Says which content it is: the same for the same, ASCII; kept beside it.</param>
public sealed record CatalogueContent(ReadOnlyMemory<byte> Bytes, string ContentType, bool IsGzip, string Tag);

/// <param name="Version">The catalogue's, when it was written; 0 where somebody else wrote it.</param>
public sealed record CatalogueEntry(string Name, long Version, string Tag, string ETag);

/// <param name="Version">The catalogue's, when it was written.</param>
/// <param name="Bytes">As stored; empty where it is unchanged.</param>
/// <param name="IsUnchanged">It still is the one that was known.</param>
public sealed record CatalogueBlob(string ETag, long Version, ReadOnlyMemory<byte> Bytes, bool IsUnchanged);
