namespace HibpIngest.Stores;

/// <summary>
/// The access log: append blobs, each written block by block by a single process (docs/access-log.md specifies names and bytes). Errors are
/// those of <see cref="IBreachDatabase"/>. Nothing is retried here, because a block must not be appended twice.
/// </summary>
public interface IAccessBlobs
{
    const string Container = "access";
    Task CreateAsync(CancellationToken cancellationToken);

    /// <returns>False if a blob of that name exists.</returns>
    Task<bool> BeginAsync(string name, CancellationToken cancellationToken);

    /// <summary>
    /// Appends a block at an exact position (If-Append-Position-Equal). After cancellation it is unknown whether the block was appended.
    /// </summary>
    /// <param name="position">The required current length of the blob, in bytes.</param>
    /// <param name="block">At most <see cref="MaxBlockBytes"/>.</param>
    Task<BlockAppend> AppendAsync(string name, long position, ReadOnlyMemory<byte> block, CancellationToken cancellationToken);

    /// <summary>Records the state of a blob if it still is this version (If-Match); otherwise does nothing.</summary>
    Task MarkAsync(AccessBlob blob, AccessBlobState state, DateTimeOffset? sentAt, CancellationToken cancellationToken);
    Task<AccessBlob?> FindAsync(string name, CancellationToken cancellationToken);

    /// <summary>Returns all blobs by name, the oldest hour first; none if the container does not exist.</summary>
    IAsyncEnumerable<AccessBlob> ListAsync(CancellationToken cancellationToken);

    /// <param name="offset">Offset of the first byte; the stream is empty if the blob ends there.</param>
    Task<Stream?> OpenAsync(string name, long offset, CancellationToken cancellationToken);
    Task DeleteAsync(string name, CancellationToken cancellationToken);

    /// <summary>Block size that every version of the service accepts (learn.microsoft.com/rest/api/storageservices/append-block).</summary>
    const int MaxBlockBytes = 4 << 20;
}

public enum BlockAppend
{
    Appended,

    /// <summary>The blob does not end at that position: an earlier attempt succeeded, or another process sealed the blob.</summary>
    OtherPosition,

    /// <summary>The blob does not exist, or was deleted.</summary>
    NoBlob,
}

/// <param name="ModifiedAt">Time of the last append or change of state.</param>
/// <param name="SentAt">Time at which a message was sent for the blob; null if never.</param>
/// <param name="Version">Version that <see cref="IAccessBlobs.MarkAsync"/> requires to be unchanged.</param>
public sealed record AccessBlob(
    string Name, long Bytes, DateTimeOffset ModifiedAt, AccessBlobState State, DateTimeOffset? SentAt, string Version);

/// <summary>State of a blob of the access log. Stored as the blob's metadata <c>state</c>, in lower case: a contract.</summary>
public enum AccessBlobState
{
    /// <summary>A process appends to it, or ended without sealing it.</summary>
    Open,

    /// <summary>No further blocks are appended.</summary>
    Sealed,

    /// <summary>The blob's records are counted in table <c>hibpusage</c>.</summary>
    Counted,
}
