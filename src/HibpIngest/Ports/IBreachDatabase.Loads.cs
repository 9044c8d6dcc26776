using HibpIngest.Accounts;
using HibpIngest.Breaches;

namespace HibpIngest.Ports;

public partial interface IBreachDatabase
{
    /// <summary>
    /// The newest load of that blob version; where there is none, records one in state ingesting (or, with <paramref name="failure"/>, in state failed), and the breach with the
    /// metadata if its name is new (an existing breach's metadata is replaced, except by a failure). Idempotent. The breach gets no id yet.
    /// </summary>
    Task<Load> StartLoadAsync(string breach, BreachMetadata metadata, BlobVersion blob, LoadSettings settings, string? failure, CancellationToken cancellationToken);

    /// <summary>
    /// Records a new load of the same blob version with these settings and fails the old one as restarted, its undone slices with it (its rows may be purged then).
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">No such load, it is done, or it was restarted before.</exception>
    Task<Load> RestartLoadAsync(long load, LoadSettings settings, CancellationToken cancellationToken);

    /// <summary>One load with its counts; null where there is none.</summary>
    Task<Load?> GetLoadAsync(long load, CancellationToken cancellationToken);

    /// <summary>Loads with their counts, oldest first; of one breach (name without regard to case) or of all.</summary>
    Task<IReadOnlyList<Load>> ListLoadsAsync(string? breach, CancellationToken cancellationToken);

    /// <summary>Takes the lease of a load that is ingesting and that nobody holds (or whose lease has expired, or that this owner holds).</summary>
    Task<bool> TryTakeLoadAsync(long load, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Extends the lease between two batches. False: it is lost.</summary>
    Task<bool> RenewLoadAsync(long load, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Gives the lease back; nothing happens when the owner no longer has it.</summary>
    Task ReleaseLoadAsync(long load, string owner, CancellationToken cancellationToken);

    /// <summary>
    /// Rows, checkpoint, renewed lease and slice rows (pending) in one transaction that begins with
    /// <c>UPDATE loads SET last_position = @to WHERE id = @load AND last_position = @from AND owner = @me</c> (and the state ingesting). The batch's
    /// <see cref="AccountBatch.FirstPosition"/> is last_position + 1. The first batch of a breach gives it its id: the highest ever given, plus 1.
    /// Cancellation leaves all or nothing.
    /// </summary>
    /// <returns>The slices it made, in order, of at most <paramref name="sliceRows"/> rows each.</returns>
    /// <exception cref="Errors.LoadLostException">No row changed: another owner, or another state.</exception>
    Task<IReadOnlyList<Slice>> CommitBatchAsync(
        long load, string owner, AccountBatch batch, int sliceRows, LoadCheckpoint checkpoint, bool duplicatesPossible, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Fills <paramref name="into"/> (cleared first) with the rows of these positions in order, at most its capacity; sets its FirstPosition. One range scan.</summary>
    Task ReadRowsAsync(long load, long first, long last, AccountBatch into, CancellationToken cancellationToken);

    /// <summary>All rows are committed: state upserting, final counts, lease given back.</summary>
    /// <exception cref="Errors.LoadLostException">Another owner, or another state.</exception>
    Task FinishIngestAsync(long load, string owner, LoadCheckpoint checkpoint, CancellationToken cancellationToken);

    /// <summary>State failed with one line of reason, lease given back. A load that is done stays so.</summary>
    Task FailLoadAsync(long load, string error, CancellationToken cancellationToken);

    /// <summary>
    /// A failed load goes on where it stood: ingesting, upserting (in both, its failed slices pending again, attempts 0), matching, held or notifying; error cleared. A load that isn't failed
    /// stays as it is. Returns its new state.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">No such load; it was restarted as another; its rows are purged.</exception>
    Task<LoadState> ResumeLoadAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// The completion statement: upserting becomes matching (MatchedPosition 0, UpsertedAt now) where no slice is undone, in a statement of its own. True for the one caller that changed it.
    /// </summary>
    Task<bool> TryStartMatchingAsync(long load, CancellationToken cancellationToken);

    /// <summary>Takes at most <paramref name="chunkRows"/> rows of a done or failed load away; returns how many; on 0 the load is marked purged. From the first chunk on it is neither resumed nor requeued.</summary>
    /// <exception cref="Errors.NotPossibleException">No such load, or it is still open.</exception>
    Task<int> PurgeRowsAsync(long load, int chunkRows, CancellationToken cancellationToken);

    /// <summary>The sealed password for a blob, replaced where there is one.</summary>
    Task PutPasswordAsync(string blob, byte[] sealedPassword, CancellationToken cancellationToken);

    Task<byte[]?> GetPasswordAsync(string blob, CancellationToken cancellationToken);

    Task DeletePasswordAsync(string blob, CancellationToken cancellationToken);
}
