using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface ISlices
{
    /// <summary>
    /// Starts a try: counts it, and returns the slice with what it needs, leased to <paramref name="owner"/>.
    /// While somebody else's lease is alive no try begins (<see cref="SliceWork.HeldUntil"/>). A failed slice
    /// is tried without being counted. One whose tries are used up is leased all the same, to be failed
    /// (Attempts is then <paramref name="maxTries"/> + 1 on return, and not recorded). A done one is returned
    /// as it is. Null: no such load or slice, the rows are purged, or nothing of the load may be written any
    /// more.
    /// </summary>
    Task<SliceWork?> BeginSliceAsync(long load, int slice, string owner, TimeSpan lease, int maxTries, CancellationToken cancellationToken);

    /// <summary>Keeps the lease, from now on, and records how far the slice is (null: as recorded).</summary>
    /// <returns>Whether to go on; false: somebody else has the slice by now, or nothing of its load may be
    /// written any more (superseded, restarted as another, being removed).</returns>
    Task<bool> RenewSliceAsync(
        long load, int slice, string owner, TimeSpan lease, SliceProgress? progress, CancellationToken cancellationToken);

    /// <summary>
    /// The slice is in the tables, in the set of layouts of that version; ends the lease. A failed slice that was
    /// tried again (its message requeued from the poison queue or by hand) becomes done too; where it was its
    /// failed load's last failed slice and the load's ingest is complete, the load returns to upserting, error and
    /// FinishedAt cleared.
    /// </summary>
    /// <returns>Done; or nothing was changed, because it was not this owner's any more, or done, or the set of
    /// layouts is another by now, which is returned then.</returns>
    Task<SliceCompletion> CompleteSliceAsync(
        long load, int slice, string owner, int entities, int layoutVersion, CancellationToken cancellationToken);

    /// <summary>
    /// Ends the lease and gives the try back, with how far it came (null: as recorded) and the reason, where
    /// there is one: a store was down, or the load was stopped, which costs none. Nothing happens where the
    /// slice is not this owner's any more.
    /// </summary>
    Task ReturnSliceTryAsync(
        long load, int slice, string owner, SliceProgress? progress, string? error, CancellationToken cancellationToken);

    /// <summary>
    /// Ends the lease and records why a try failed; with <paramref name="exhausted"/> the slice is failed and
    /// its load too, naming the slice. Nothing happens where the slice is not this owner's any more.
    /// </summary>
    Task FailSliceAsync(long load, int slice, string owner, string error, bool exhausted, CancellationToken cancellationToken);

    /// <summary>
    /// The messages of these slices have been sent: pending ones become queued, and queued ones get a new
    /// QueuedAt.
    /// </summary>
    Task MarkSlicesQueuedAsync(long load, int firstSlice, int lastSlice, CancellationToken cancellationToken);

    /// <summary>
    /// Sets slices back to pending with attempts 0 and nothing done (one, the failed ones, or all:
    /// <paramref name="slice"/> wins) and, where that is any, the load to ingesting or upserting (by whether
    /// its ingest was complete), error and FinishedAt cleared. Whoever works on one has lost it. Returns those
    /// slices; none of a load that was restarted as another, which has its rows.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">No such load or slice; its rows are purged; one slice of a
    /// load that was restarted.</exception>
    Task<IReadOnlyList<Slice>> RequeueSlicesAsync(long load, int? slice, bool failedOnly, CancellationToken cancellationToken);

    /// <summary>Those whose lease is alive, of every load.</summary>
    Task<IReadOnlyList<HeldSlice>> ListHeldSlicesAsync(CancellationToken cancellationToken);

    Task<IReadOnlyList<Slice>> ListSlicesAsync(long load, bool failedOnly, CancellationToken cancellationToken);

    /// <summary>
    /// Slices of loads that are neither done nor purged, pending for at least <paramref name="age"/> since they
    /// were made or set back; at most <paramref name="most"/>.
    /// </summary>
    Task<IReadOnlyList<Slice>> ListPendingSlicesAsync(TimeSpan age, int most, CancellationToken cancellationToken);

    /// <summary>
    /// Queued slices whose QueuedAt is at least <paramref name="age"/> old, of open loads none of whose slices
    /// was begun, renewed or ended for as long; at most <paramref name="most"/>.
    /// </summary>
    Task<IReadOnlyList<Slice>> ListStaleSlicesAsync(TimeSpan age, int most, CancellationToken cancellationToken);
}
