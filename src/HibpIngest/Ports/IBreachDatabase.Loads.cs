using HibpIngest.Accounts;
using HibpIngest.Breaches;

namespace HibpIngest.Ports;

public partial interface IBreachDatabase
{
    /// <summary>The newest load of that blob version; null where there is none.</summary>
    Task<LoadHead?> FindLoadAsync(BlobVersion blob, CancellationToken cancellationToken);

    /// <summary>
    /// The newest load of that blob version; where there is none, records one in state ingesting (or, with a failure, in state failed), and the breach if its name is new; its metadata document
    /// is merged in the same transaction. Idempotent; the id is then not used. The load gets no mark yet.
    /// </summary>
    /// <exception cref="Errors.BadInputException">The metadata document can't be read; nothing was recorded.</exception>
    Task<Load> StartLoadAsync(NewLoad load, CancellationToken cancellationToken);

    /// <summary>
    /// Records a new load (its id drawn from the register) of the same blob version with these settings and fails the old one as restarted, its undone slices with it (its rows may be purged
    /// then). What was held stays held.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">No such load, it is done, superseded or being removed, or it was restarted before.</exception>
    Task<Load> RestartLoadAsync(long load, long id, LoadSettings settings, CancellationToken cancellationToken);

    /// <summary>The row of one load, without its counts; null where there is none.</summary>
    Task<LoadHead?> GetLoadHeadAsync(long load, CancellationToken cancellationToken);

    /// <summary>One load with its counts; null where there is none.</summary>
    Task<Load?> GetLoadAsync(long load, CancellationToken cancellationToken);

    /// <summary>Loads with their counts, oldest first; of one breach (name without regard to case) or of all.</summary>
    Task<IReadOnlyList<Load>> ListLoadsAsync(string? breach, CancellationToken cancellationToken);

    /// <summary>
    /// Takes the lease of a load that is in this state (ingesting or matching) and that nobody holds (or whose lease has expired, or that this owner holds), and counts the attempt, unless the
    /// owner has it already.
    /// </summary>
    Task<bool> TryTakeLoadAsync(long load, LoadState state, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Extends the lease between two batches. False: it is lost.</summary>
    Task<bool> RenewLoadAsync(long load, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Gives the lease back, and the attempt with it: whoever can still give it back was not ended by the load. Nothing happens when the owner no longer has it.</summary>
    Task ReleaseLoadAsync(long load, string owner, CancellationToken cancellationToken);

    /// <summary>Opens the copy of a load's batches.</summary>
    Task<IBatchCopy> OpenCopyAsync(BatchCopyOrder order, CancellationToken cancellationToken);

    /// <summary>Fills <paramref name="into"/> (cleared first) with the rows of these positions in order, at most its capacity; sets its FirstPosition. One range scan.</summary>
    Task ReadRowsAsync(long load, long first, long last, AccountBatch into, CancellationToken cancellationToken);

    /// <summary>All rows are committed: state upserting, final counts, lease given back.</summary>
    /// <exception cref="Errors.LoadLostException">Another owner, or another state.</exception>
    Task FinishIngestAsync(long load, string owner, LoadCheckpoint checkpoint, CancellationToken cancellationToken);

    /// <summary>
    /// State failed with one line of reason, lease given back. With an owner, only while that owner holds the load. A load that is done stays so. Returns whether it is failed now by this call.
    /// </summary>
    /// <param name="superseded">Its blob was replaced while it was read: it is never gone on with, and its slices stop.</param>
    Task<bool> FailLoadAsync(long load, string? owner, string error, bool superseded, CancellationToken cancellationToken);

    /// <summary>The message of the load's state (match, mail) has just been sent.</summary>
    Task MarkMessageSentAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// A failed load goes on where it stood: ingesting, upserting (in both, its failed slices pending again, attempts 0), matching, held or notifying; attempts 0, error cleared.
    /// A load that isn't failed stays as it is. Returns its new state.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">No such load; it was restarted as another, superseded or is being removed; its rows are purged.</exception>
    Task<LoadState> ResumeLoadAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// The completion statement: upserting becomes matching (MatchedPosition 0, UpsertedAt now) where no slice is undone, in a statement of its own. True for the one caller that changed it.
    /// </summary>
    Task<bool> TryStartMatchingAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// Gives a load that is done, failed or held to another breach, which is made where its name is new, with its notifications (an open one that the other breach has already goes) and its
    /// mark; it is held for no reason of its own any more. The metadata document is merged into the other breach's. The old breach goes where nothing else is of it.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">No such load; it is open, being removed, or shares its mark with another (taken over from schema 1).</exception>
    Task AssignLoadAsync(long load, string breach, ReadOnlyMemory<byte>? document, CancellationToken cancellationToken);

    /// <summary>Takes at most <paramref name="chunkRows"/> rows of a done or failed load away; returns how many; on 0 the load is marked purged. From the first chunk on it is neither resumed nor requeued.</summary>
    /// <exception cref="Errors.NotPossibleException">No such load, or it is still open.</exception>
    Task<int> PurgeRowsAsync(long load, int chunkRows, CancellationToken cancellationToken);

    /// <summary>The sealed password for a blob version, replaced where there is one. An empty ETag: for the version that is being dropped.</summary>
    Task PutPasswordAsync(BlobVersion blob, byte[] sealedPassword, CancellationToken cancellationToken);

    Task<byte[]?> GetPasswordAsync(BlobVersion blob, CancellationToken cancellationToken);

    Task DeletePasswordAsync(BlobVersion blob, CancellationToken cancellationToken);
}
