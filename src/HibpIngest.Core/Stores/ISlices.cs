namespace HibpIngest.Stores;

public interface ISlices
{
    /// <summary>
    /// Starts an attempt: counts it, leases the slice to <paramref name="owner"/> and returns it with the data that the attempt needs. No
    /// attempt starts while another owner's lease is live (<see cref="SliceWork.HeldUntil"/>). Attempts of a failed slice are not counted.
    /// A slice whose attempts are used up is still leased, so that it can be failed (Attempts is then <paramref name="maxTries"/> + 1 on
    /// return, but not recorded). A done slice is returned unchanged.
    /// </summary>
    /// <returns>Null if there is no such load or slice, the rows are purged, or nothing of the load may be written any more.</returns>
    Task<SliceWork?> BeginSliceAsync(
        LoadId load, int slice, string owner, TimeSpan lease, int maxTries, CancellationToken cancellationToken);

    /// <summary>Renews the lease from now on, and records the slice's progress (null: unchanged).</summary>
    /// <returns>False if the caller must stop: another owner has the slice, or nothing of its load may be written any more (superseded,
    /// restarted as another, being removed).</returns>
    Task<bool> RenewSliceAsync(
        LoadId load, int slice, string owner, TimeSpan lease, SliceProgress? progress, CancellationToken cancellationToken);

    /// <summary>
    /// Records that the slice is written to the tables, in the set of layouts of that version, and ends the lease. A failed slice that was
    /// retried (its message requeued from the poison queue or by hand) also becomes done. If it was the last failed slice of its failed
    /// load, and the load's ingest is complete, the load returns to upserting with error and FinishedAt cleared.
    /// </summary>
    /// <returns>Done; or nothing changed, because the owner had lost the slice, or it was done, or the set of layouts has changed, which is
    /// then returned.</returns>
    Task<SliceCompletion> CompleteSliceAsync(
        LoadId load, int slice, string owner, int entities, int layoutVersion, CancellationToken cancellationToken);

    /// <summary>
    /// Ends the lease and uncounts the attempt, because a store was down or the load was stopped. Records the progress (null: unchanged)
    /// and the reason, if any. Does nothing if the owner has lost the slice.
    /// </summary>
    Task RefundSliceAttemptAsync(
        LoadId load, int slice, string owner, SliceProgress? progress, string? error, CancellationToken cancellationToken);

    /// <summary>
    /// Ends the lease and records why an attempt failed. With <paramref name="exhausted"/>, the slice is failed and its load too, naming
    /// the slice. Does nothing if the owner has lost the slice.
    /// </summary>
    Task FailSliceAsync(LoadId load, int slice, string owner, string error, bool exhausted, CancellationToken cancellationToken);

    /// <summary>
    /// Records that the messages of these slices were sent: pending slices become queued, and queued ones get a new QueuedAt.
    /// </summary>
    Task MarkSlicesQueuedAsync(LoadId load, int firstSlice, int lastSlice, CancellationToken cancellationToken);

    /// <summary>
    /// Resets slices to pending with attempts 0 and no progress (one, the failed ones, or all: <paramref name="slice"/> takes precedence).
    /// If there are any, the load returns to ingesting or upserting (depending on whether its ingest was complete) with error and
    /// FinishedAt cleared. Current owners lose their leases.
    /// </summary>
    /// <returns>The reset slices; none for a load that was restarted as another, which has its rows.</returns>
    /// <exception cref="Errors.NotPossibleException">No such load or slice; its rows are purged; one slice of a load that was
    /// restarted.</exception>
    Task<IReadOnlyList<Slice>> RequeueSlicesAsync(LoadId load, int? slice, bool failedOnly, CancellationToken cancellationToken);

    Task<IReadOnlyList<Slice>> ListSlicesAsync(LoadId load, bool failedOnly, CancellationToken cancellationToken);

    /// <summary>
    /// Returns slices of loads that are neither done nor purged, pending for at least <paramref name="age"/> since they were created or
    /// reset; at most <paramref name="limit"/>.
    /// </summary>
    Task<IReadOnlyList<Slice>> ListPendingSlicesAsync(TimeSpan age, int limit, CancellationToken cancellationToken);

    /// <summary>
    /// Returns queued slices whose QueuedAt is at least <paramref name="age"/> old, of open loads none of whose slices was started, renewed
    /// or ended in that time; at most <paramref name="limit"/>.
    /// </summary>
    Task<IReadOnlyList<Slice>> ListStaleSlicesAsync(TimeSpan age, int limit, CancellationToken cancellationToken);
}

/// <param name="Slice">Its range; <see cref="Slice.Attempts"/> includes the attempt just started.</param>
/// <param name="Mark">The load's mark; names the property to write.</param>
public sealed record SliceWork(Slice Slice, int Mark, string Breach)
{
    /// <summary>Expiry of another owner's live lease: no attempt was started.</summary>
    public DateTimeOffset? HeldUntil { get; init; }

    /// <summary>Rows of the load are purged, at least some: read them from the journal.</summary>
    public bool Purged { get; init; }

    /// <summary>All layouts that the slice must be written to.</summary>
    public LayoutSet Layouts { get; init; } = LayoutSet.None;

    /// <summary>Progress of earlier attempts. Null if none is recorded.</summary>
    public SliceProgress? Progress { get; init; }
}

/// <param name="OrderVersion">Version of the order in which transactions are counted; a program with another version starts over.</param>
/// <param name="Done">One bit per transaction; the first one is the lowest bit of byte 0.</param>
public sealed record SliceProgress(int OrderVersion, byte[] Done)
{
    /// <summary>
    /// Version of the set of layouts that the transactions write to; with another version, they are different transactions.
    /// </summary>
    public int LayoutVersion { get; init; }
}

/// <param name="IsDone">The slice is recorded as done, and its lease has ended.</param>
/// <param name="Layouts">Not null: the set of layouts has changed since the attempt started, and the slice must be repeated with this set,
/// under the same lease. Null and not done: the owner had lost the slice.</param>
public sealed record SliceCompletion(bool IsDone, LayoutSet? Layouts)
{
    public static SliceCompletion Done { get; } = new(true, null);

    /// <summary>Nothing changed: another owner had the slice, or it was done.</summary>
    public static SliceCompletion Lost { get; } = new(false, null);
}
