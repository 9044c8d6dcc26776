using HibpIngest.Breaches;

namespace HibpIngest.Ports;

public partial interface IBreachDatabase
{
    /// <summary>
    /// Starts a try: counts it, and returns the slice with what it needs. A done or failed slice is returned as it is, no try counted; so is one whose tries are used up
    /// (Attempts is then <paramref name="maxTries"/> + 1 on return, recorded or not). Null: no such load or slice, or the rows are purged.
    /// </summary>
    Task<SliceWork?> BeginSliceAsync(long load, int slice, int maxTries, CancellationToken cancellationToken);

    /// <summary>
    /// The slice is in the table; idempotent. A failed slice that was tried again (its message requeued from the poison queue or by hand) becomes done too; where it was its failed load's last
    /// failed slice and the load's ingest is complete, the load returns to upserting, error and FinishedAt cleared.
    /// </summary>
    Task CompleteSliceAsync(long load, int slice, int entities, CancellationToken cancellationToken);

    /// <summary>Gives the try back: a store was down, which costs none. Records the reason.</summary>
    Task ReturnSliceTryAsync(long load, int slice, string error, CancellationToken cancellationToken);

    /// <summary>Records why a try failed; with <paramref name="exhausted"/> the slice is failed and its load too, naming the slice. A done slice stays so.</summary>
    Task FailSliceAsync(long load, int slice, string error, bool exhausted, CancellationToken cancellationToken);

    /// <summary>The messages of these slices have been sent: pending ones become queued, and queued ones get a new QueuedAt.</summary>
    Task MarkSlicesQueuedAsync(long load, int firstSlice, int lastSlice, CancellationToken cancellationToken);

    /// <summary>
    /// Sets slices back to pending with attempts 0 (one, the failed ones, or all: <paramref name="slice"/> wins) and, where that is any, the load to ingesting or upserting
    /// (by whether its ingest was complete), error and FinishedAt cleared. Returns those slices; none of a load that was restarted as another, which has its rows.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">No such load or slice; its rows are purged; one slice of a load that was restarted.</exception>
    Task<IReadOnlyList<Slice>> RequeueSlicesAsync(long load, int? slice, bool failedOnly, CancellationToken cancellationToken);

    /// <summary>Slices of a load in order.</summary>
    Task<IReadOnlyList<Slice>> ListSlicesAsync(long load, bool failedOnly, CancellationToken cancellationToken);

    /// <summary>Slices of loads that are neither done nor purged, pending for at least <paramref name="age"/> since they were made or set back; at most <paramref name="most"/>.</summary>
    Task<IReadOnlyList<Slice>> ListPendingSlicesAsync(TimeSpan age, int most, CancellationToken cancellationToken);

    /// <summary>Queued slices of open loads whose QueuedAt is at least <paramref name="age"/> old; at most <paramref name="most"/>.</summary>
    Task<IReadOnlyList<Slice>> ListStaleSlicesAsync(TimeSpan age, int most, CancellationToken cancellationToken);
}
