namespace HibpIngest.Stores;

public interface ILoads
{
    /// <summary>Returns the newest load of a blob version.</summary>
    Task<LoadHead?> FindLoadAsync(BlobVersion blob, CancellationToken cancellationToken);

    /// <summary>
    /// Returns the newest load of the blob version. If there is none, records one in state ingesting (with a failure: failed), and the
    /// breach if its name is new, and merges the metadata document in the same transaction. Idempotent: the id is then unused. The load
    /// gets no mark yet.
    /// </summary>
    /// <exception cref="Errors.BadInputException">The metadata document can't be read; nothing was recorded.</exception>
    Task<LoadHead> StartLoadAsync(NewLoad load, CancellationToken cancellationToken);

    /// <summary>
    /// Records a new load (its id drawn from the register) of the same blob version with these settings, and fails the old one as
    /// restarted, together with its undone slices; its rows may then be purged. A hold is kept.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">No such load, it is done, superseded or being removed, or it was restarted
    /// before.</exception>
    Task<Load> RestartLoadAsync(LoadId load, LoadId id, LoadSettings settings, CancellationToken cancellationToken);

    /// <summary>Returns the row of one load without its counts.</summary>
    Task<LoadHead?> GetLoadHeadAsync(LoadId load, CancellationToken cancellationToken);

    /// <summary>Returns one load with its counts.</summary>
    Task<Load?> GetLoadAsync(LoadId load, CancellationToken cancellationToken);

    /// <summary>Returns the loads of one breach (ignoring case) or of all, with their counts, oldest first.</summary>
    Task<IReadOnlyList<Load>> ListLoadsAsync(string? breach, CancellationToken cancellationToken);

    /// <summary>Returns when these loads were worked on, in the given order. A removed load has no slices.</summary>
    Task<IReadOnlyList<LoadWork>> ListWorkAsync(IReadOnlyCollection<LoadId> loads, CancellationToken cancellationToken);

    /// <summary>Returns what has a live lease: loads that are ingested or matched, and slices that aren't done.</summary>
    Task<IReadOnlyList<HeldWork>> ListLeasesAsync(CancellationToken cancellationToken);

    /// <summary>Records that the message for the load's state (match, mail) was sent.</summary>
    Task MarkMessageSentAsync(LoadId load, CancellationToken cancellationToken);

    /// <summary>
    /// Fails a load with one line of reason and releases its lease. With an owner, only while that owner holds the load. A load that is
    /// done is not changed.
    /// </summary>
    /// <param name="superseded">Its blob was replaced while it was being read: it can't be resumed, and its slices stop.</param>
    /// <returns>True if this call failed the load.</returns>
    Task<bool> FailLoadAsync(LoadId load, string? owner, string error, bool superseded, CancellationToken cancellationToken);

    /// <summary>
    /// Resumes a failed load in the state in which it failed: ingesting, upserting (in both, its failed slices become pending with attempts
    /// 0), matching, held or notifying. Resets its attempts and clears the error. A load that isn't failed is not changed.
    /// </summary>
    /// <returns>The new state.</returns>
    /// <exception cref="Errors.NotPossibleException">No such load; it was restarted as another, superseded or is being removed; its rows
    /// are purged.</exception>
    Task<LoadState> ResumeLoadAsync(LoadId load, CancellationToken cancellationToken);

    /// <summary>
    /// Assigns a load that is done, failed or held to another breach, which is created if its name is new. The load's mark and
    /// notifications move too; open notifications that the other breach already has are deleted. The load's own hold reason is cleared
    /// (<see cref="HoldReason.AfterAssignment"/>). The metadata document is merged into the other breach. The old breach is deleted if
    /// nothing else belongs to it.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">No such load; it is open, being removed, or shares its mark with another (upgraded
    /// from schema 1).</exception>
    Task AssignLoadAsync(LoadId load, string breach, ReadOnlyMemory<byte>? document, CancellationToken cancellationToken);

    /// <summary>
    /// Acquires the lease of a load in this state (ingesting or matching) that isn't stopped, if it is free, has expired, or belongs to
    /// this owner. Counts an attempt, unless the owner already holds the lease.
    /// </summary>
    Task<bool> TryClaimLoadAsync(LoadId load, LoadState state, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Renews the lease between two batches.</summary>
    /// <returns>False if the lease is lost.</returns>
    Task<bool> RenewLoadAsync(LoadId load, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>
    /// Releases the lease and uncounts the attempt: an owner that can still release it was not crashed by the load. Does nothing if the
    /// owner no longer holds the lease.
    /// </summary>
    Task ReleaseLoadAsync(LoadId load, string owner, CancellationToken cancellationToken);
    Task<IBatchCopy> OpenCopyAsync(BatchCopyOrder order, CancellationToken cancellationToken);

    /// <summary>Records that all rows are committed: sets state upserting and the final counts, and releases the lease.</summary>
    /// <exception cref="LoadLostException">Another owner, or another state.</exception>
    Task FinishIngestAsync(LoadId load, string owner, LoadCheckpoint checkpoint, CancellationToken cancellationToken);

    /// <summary>
    /// Stores the encrypted password for a blob version, replacing an existing one. An empty ETag stands for the version that is being
    /// dropped.
    /// </summary>
    Task PutPasswordAsync(BlobVersion blob, byte[] sealedPassword, CancellationToken cancellationToken);
    Task<byte[]?> GetPasswordAsync(BlobVersion blob, CancellationToken cancellationToken);
    Task DeletePasswordAsync(BlobVersion blob, CancellationToken cancellationToken);
}

public static class LoadsExtensions
{
    /// <exception cref="NotPossibleException">There is no such load.</exception>
    public static async Task<Load> RequireLoadAsync(this ILoads loads, LoadId load, CancellationToken cancellationToken) =>
        await loads.GetLoadAsync(load, cancellationToken) ?? throw new NotPossibleException($"there is no load {load}; see: hibp status");
}

/// <summary>The times at which a load was worked on, as recorded in the database.</summary>
/// <param name="Slices">The slices, by number.</param>
/// <param name="FirstMailAt">Time at which the first notification was sent or refused; null if none was.</param>
/// <param name="LastMailAt">Time at which the last notification was sent or refused.</param>
public sealed record LoadWork(LoadId Load, IReadOnlyList<SliceTimes> Slices, DateTimeOffset? FirstMailAt, DateTimeOffset? LastMailAt);

/// <summary>The times at which a slice was worked on.</summary>
/// <param name="CommittedAt">Time at which its rows were committed, or it was last requeued.</param>
/// <param name="BegunAt">Start of the attempt that completed it, or of the current attempt while its lease is live; null if no attempt is
/// running, or the start is unknown.</param>
/// <param name="DoneAt">Time at which it was completed; null if it is open.</param>
/// <param name="Part">Fraction of the transactions that are done, 0 to 1, as last recorded by the lease owner; open slices only.</param>
public readonly record struct SliceTimes(DateTimeOffset CommittedAt, DateTimeOffset? BegunAt, DateTimeOffset? DoneAt, double Part = 0);

/// <param name="Slice">Number of the slice; if null, the load as a whole, its ingest or its matching.</param>
/// <param name="Owner">Owner of the lease; starts with <see cref="Heartbeat.Host"/>.</param>
/// <param name="Until">Expiry of the lease, unless it is renewed.</param>
public sealed record HeldWork(LoadId Load, string Breach, int? Slice, string Owner, DateTimeOffset Until);

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
    /// <exception cref="LoadLostException">No row changed: another owner, or another state.</exception>
    Task<IReadOnlyList<Slice>> CommitAsync(
        AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible, CancellationToken cancellationToken);
}

/// <param name="Mark">The mark drawn for the load; ignored if the load has one.</param>
/// <param name="SliceRows">Maximum number of rows of a slice.</param>
/// <param name="Lease">Lease duration from each commit on.</param>
public sealed record BatchCopyOrder(LoadId Load, string Owner, int Mark, int SliceRows, TimeSpan Lease);

/// <summary>
/// Another ingester owns the load. Nothing of the current batch was written; the caller must stop, and the other ingester continues.
/// </summary>
public sealed class LoadLostException(LoadId load) : HibpException($"the lease of load {load} was lost to another worker");
