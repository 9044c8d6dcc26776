using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface ILoads
{
    /// <summary>The newest load of that blob version; null where there is none.</summary>
    Task<LoadHead?> FindLoadAsync(BlobVersion blob, CancellationToken cancellationToken);

    /// <summary>
    /// The newest load of that blob version; where there is none, records one in state ingesting (or, with a
    /// failure, in state failed), and the breach if its name is new; its metadata document is merged in the
    /// same transaction. Idempotent; the id is then not used. The load gets no mark yet.
    /// </summary>
    /// <exception cref="Errors.BadInputException">The metadata document can't be read; nothing was recorded.</exception>
    Task<Load> StartLoadAsync(NewLoad load, CancellationToken cancellationToken);

    /// <summary>
    /// Records a new load (its id drawn from the register) of the same blob version with these settings and
    /// fails the old one as restarted, its undone slices with it (its rows may be purged then). What was held
    /// stays held.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">No such load, it is done, superseded or being removed, or
    /// it was restarted before.</exception>
    Task<Load> RestartLoadAsync(long load, long id, LoadSettings settings, CancellationToken cancellationToken);

    /// <summary>The row of one load, without its counts; null where there is none.</summary>
    Task<LoadHead?> GetLoadHeadAsync(long load, CancellationToken cancellationToken);

    /// <summary>One load with its counts; null where there is none.</summary>
    Task<Load?> GetLoadAsync(long load, CancellationToken cancellationToken);

    /// <summary>Loads with their counts, oldest first; of one breach (name without regard to case) or of all.</summary>
    Task<IReadOnlyList<Load>> ListLoadsAsync(string? breach, CancellationToken cancellationToken);

    /// <summary>Returns when these loads were worked on, in their order; a load that is gone has no slices.</summary>
    Task<IReadOnlyList<LoadWork>> ListWorkAsync(IReadOnlyCollection<long> loads, CancellationToken cancellationToken);

    Task<IReadOnlyList<HeldWork>> ListHeldAsync(CancellationToken cancellationToken);

    /// <summary>The message of the load's state (match, mail) has just been sent.</summary>
    Task MarkMessageSentAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// State failed with one line of reason, lease given back. With an owner, only while that owner holds the
    /// load. A load that is done stays so. Returns whether it is failed now by this call.
    /// </summary>
    /// <param name="superseded">Its blob was replaced while it was read: it is never gone on with, and its slices stop.</param>
    Task<bool> FailLoadAsync(long load, string? owner, string error, bool superseded, CancellationToken cancellationToken);

    /// <summary>
    /// A failed load goes on where it stood: ingesting, upserting (in both, its failed slices pending again,
    /// attempts 0), matching, held or notifying; attempts 0, error cleared. A load that isn't failed stays as
    /// it is. Returns its new state.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">No such load; it was restarted as another, superseded or
    /// is being removed; its rows are purged.</exception>
    Task<LoadState> ResumeLoadAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// Gives a load that is done, failed or held to another breach, which is made where its name is new, with
    /// its notifications (an open one that the other breach has already goes) and its mark; it is held for no
    /// reason of its own any more. The metadata document is merged into the other breach's. The old breach goes
    /// where nothing else is of it.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">No such load; it is open, being removed, or shares its
    /// mark with another (taken over from schema 1).</exception>
    Task AssignLoadAsync(long load, string breach, ReadOnlyMemory<byte>? document, CancellationToken cancellationToken);
}
