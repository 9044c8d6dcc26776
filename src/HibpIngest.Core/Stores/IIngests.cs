using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>Ingest leases, copying the rows of a load, and the encrypted passwords of its archive.</summary>
/// <remarks>The rules in <see cref="IBreachDatabase"/> apply.</remarks>
public interface IIngests
{
    /// <summary>
    /// Acquires the lease of a load in this state (ingesting or matching) if it is free, has expired, or belongs to this owner.
    /// Counts an attempt, unless the owner already holds the lease.
    /// </summary>
    Task<bool> TryClaimLoadAsync(long load, LoadState state, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Renews the lease between two batches.</summary>
    /// <returns>False if the lease is lost.</returns>
    Task<bool> RenewLoadAsync(long load, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>
    /// Releases the lease and uncounts the attempt: an owner that can still release it was not crashed by the load. Does
    /// nothing if the owner no longer holds the lease.
    /// </summary>
    Task ReleaseLoadAsync(long load, string owner, CancellationToken cancellationToken);

    Task<IBatchCopy> OpenCopyAsync(BatchCopyOrder order, CancellationToken cancellationToken);

    /// <summary>Records that all rows are committed: sets state upserting and the final counts, and releases the lease.</summary>
    /// <exception cref="Errors.LoadLostException">Another owner, or another state.</exception>
    Task FinishIngestAsync(long load, string owner, LoadCheckpoint checkpoint, CancellationToken cancellationToken);

    /// <summary>
    /// Stores the encrypted password for a blob version, replacing an existing one. An empty ETag stands for the version that
    /// is being dropped.
    /// </summary>
    Task PutPasswordAsync(BlobVersion blob, byte[] sealedPassword, CancellationToken cancellationToken);

    Task<byte[]?> GetPasswordAsync(BlobVersion blob, CancellationToken cancellationToken);

    Task DeletePasswordAsync(BlobVersion blob, CancellationToken cancellationToken);
}
