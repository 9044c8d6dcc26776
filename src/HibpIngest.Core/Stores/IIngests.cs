namespace HibpIngest.Stores;

/// <summary>Ingest leases, copying the rows of a load, and the encrypted passwords of its archive.</summary>
public interface IIngests
{
    /// <summary>
    /// Acquires the lease of a load in this state (ingesting or matching) that isn't stopped, if it is free, has expired, or belongs to
    /// this owner. Counts an attempt, unless the owner already holds the lease.
    /// </summary>
    Task<bool> TryClaimLoadAsync(long load, LoadState state, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Renews the lease between two batches.</summary>
    /// <returns>False if the lease is lost.</returns>
    Task<bool> RenewLoadAsync(long load, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>
    /// Releases the lease and uncounts the attempt: an owner that can still release it was not crashed by the load. Does nothing if the
    /// owner no longer holds the lease.
    /// </summary>
    Task ReleaseLoadAsync(long load, string owner, CancellationToken cancellationToken);
    Task<IBatchCopy> OpenCopyAsync(BatchCopyOrder order, CancellationToken cancellationToken);

    /// <summary>Records that all rows are committed: sets state upserting and the final counts, and releases the lease.</summary>
    /// <exception cref="Errors.LoadLostException">Another owner, or another state.</exception>
    Task FinishIngestAsync(long load, string owner, LoadCheckpoint checkpoint, CancellationToken cancellationToken);

    /// <summary>
    /// Stores the encrypted password for a blob version, replacing an existing one. An empty ETag stands for the version that is being
    /// dropped.
    /// </summary>
    Task PutPasswordAsync(BlobVersion blob, byte[] sealedPassword, CancellationToken cancellationToken);
    Task<byte[]?> GetPasswordAsync(BlobVersion blob, CancellationToken cancellationToken);
    Task DeletePasswordAsync(BlobVersion blob, CancellationToken cancellationToken);
}

/// <summary>The copy of one load into SQL by one owner. Holds its resources (a connection) until it is disposed.</summary>
public interface IBatchCopy : IAsyncDisposable
{
    /// <summary>
    /// Writes rows, checkpoint, renewed lease and pending slice rows in one transaction that begins with <c>UPDATE loads SET last_position
    /// = @to WHERE id = @load AND last_position = @from AND owner = @me</c> (and the state ingesting). The batch's
    /// <see cref="AccountBatch.FirstPosition"/> must be last_position + 1. The first batch assigns the load's mark. The lease runs from the
    /// end of the transaction, and the load's attempts are reset to 0. After cancellation, either everything or nothing is written.
    /// </summary>
    /// <returns>The slices of the batch, in order.</returns>
    /// <exception cref="Errors.LoadLostException">No row changed: another owner, or another state.</exception>
    Task<IReadOnlyList<Slice>> CommitAsync(
        AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible, CancellationToken cancellationToken);
}

/// <param name="Mark">The mark drawn for the load; ignored if the load has one.</param>
/// <param name="SliceRows">Maximum number of rows of a slice.</param>
/// <param name="Lease">Lease duration from each commit on.</param>
public sealed record BatchCopyOrder(long Load, string Owner, int Mark, int SliceRows, TimeSpan Lease);
