namespace HibpIngest.Stores;

/// <summary>
/// The slices that must be searched for prefixes that clients watch. A load's slices are searched while the load sends: it is notifying or
/// done (or failed while sending its mails), and its breach isn't hidden.
/// </summary>
public interface ICallSlices
{
    /// <summary>Returns a slice of a load that sends and for which clients must be called.</summary>
    /// <returns>Null if there is none, or its load was replaced, is being removed, or doesn't send now.</returns>
    Task<CallSlice?> FindCallSliceAsync(long load, int slice, CancellationToken cancellationToken);

    /// <summary>
    /// Returns the load's slices that were not searched yet, in order; none if no client must be called for the load now.
    /// </summary>
    Task<IReadOnlyList<Slice>> ListCallSlicesAsync(long load, CancellationToken cancellationToken);
    Task MarkCallMessagesSentAsync(long load, CancellationToken cancellationToken);

    /// <summary>Records why a load's slices can't be searched.</summary>
    /// <param name="failed">Retrying can't help: the slices are skipped until <see cref="RetryCallSlicesAsync"/>.</param>
    Task SetCallErrorAsync(long load, string error, bool failed, CancellationToken cancellationToken);
    Task RetryCallSlicesAsync(long load, CancellationToken cancellationToken);

    /// <summary>Records a slice as searched, with its deliveries, and completes the load's search after its last slice.</summary>
    /// <param name="calls">Number of calls by client.</param>
    /// <returns>The clients that need a message. Null: nothing was recorded, because the slice was recorded before, or no client is to be
    /// called for its load any more.</returns>
    Task<IReadOnlyList<int>?> RecordCallSliceAsync(
        long load, int slice, IReadOnlyDictionary<int, int> calls, CancellationToken cancellationToken);
}

/// <summary>A slice of a published load that must be searched for the prefixes that clients watch.</summary>
/// <param name="Purged">Rows of its load are purged, at least some: read them from the journal.</param>
/// <param name="IsSearched">It was searched, and the result is recorded.</param>
/// <param name="CalledMarks">Marks of the replaced loads of the same blob name for which clients were called. Accounts with one of these
/// marks cause no further call.</param>
public sealed record CallSlice(Slice Slice, int Mark, Breach Breach, bool Purged, bool IsSearched, IReadOnlyList<int> CalledMarks);
