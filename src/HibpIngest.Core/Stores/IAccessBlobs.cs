namespace HibpIngest.Stores;

/// <summary>
/// Where the access log lies: append blobs, each written by one process alone, block by block (docs/access-log.md has names and
/// bytes). Errors as for <see cref="IBreachDatabase"/>; nothing is tried twice here, as a block must not be appended twice.
/// </summary>
public interface IAccessBlobs
{
    const string Container = "access";

    /// <summary>Creates the container where it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    /// <returns>False where one of that name is there already.</returns>
    Task<bool> BeginAsync(string name, CancellationToken cancellationToken);

    /// <summary>Appends a block at a position and nowhere else (If-Append-Position-Equal).</summary>
    /// <param name="position">Bytes that the blob has to have.</param>
    /// <param name="block">At most <see cref="MostBlockBytes"/>.</param>
    /// <param name="cancellationToken">Stops it; then it is not known whether the block was appended.</param>
    Task<BlockAppend> AppendAsync(string name, long position, ReadOnlyMemory<byte> block, CancellationToken cancellationToken);

    /// <summary>Records what has become of a blob, where it is still this version of it (If-Match); no matter where it is not.</summary>
    Task MarkAsync(AccessBlob blob, AccessBlobState state, DateTimeOffset? sentAt, CancellationToken cancellationToken);

    /// <summary>A blob; null where there is none.</summary>
    Task<AccessBlob?> FindAsync(string name, CancellationToken cancellationToken);

    /// <summary>All blobs, by name: the oldest hour first; none where there is no container yet.</summary>
    IAsyncEnumerable<AccessBlob> ListAsync(CancellationToken cancellationToken);

    /// <summary>Opens a blob to be read forward.</summary>
    /// <param name="offset">Of the first byte; the stream is empty where the blob ends there.</param>
    /// <returns>Null where there is no such blob.</returns>
    Task<Stream?> OpenAsync(string name, long offset, CancellationToken cancellationToken);

    /// <summary>Deletes a blob, if it is there.</summary>
    Task DeleteAsync(string name, CancellationToken cancellationToken);

    /// <summary>
    /// Bytes of a block that every version of the service takes (learn.microsoft.com/rest/api/storageservices/append-block).
    /// </summary>
    const int MostBlockBytes = 4 << 20;
}

public enum BlockAppend
{
    Appended,

    /// <summary>The blob does not end at that position: an earlier try has come through, or somebody else has ended the blob.</summary>
    OtherPosition,

    /// <summary>There is no such blob, or no more.</summary>
    NoBlob,
}

/// <summary>A blob of the access log.</summary>
/// <param name="ModifiedAt">When it was appended to, or marked, last.</param>
/// <param name="SentAt">When a message was sent for it; null: never.</param>
/// <param name="Version">For <see cref="IAccessBlobs.MarkAsync"/>.</param>
public sealed record AccessBlob(
    string Name, long Bytes, DateTimeOffset ModifiedAt, AccessBlobState State, DateTimeOffset? SentAt, string Version);

/// <summary>What has become of a blob of the access log. Kept as the blob's metadata <c>state</c>, in lower case: a contract.</summary>
public enum AccessBlobState
{
    /// <summary>A process appends to it, or did when it ended without another word.</summary>
    Open,

    /// <summary>Nothing is appended any more.</summary>
    Sealed,

    /// <summary>Its records are in table <c>hibpusage</c>.</summary>
    Counted,
}
