namespace HibpIngest.Stores;

/// <summary>
/// The slices to be searched for prefixes that clients watch, and the callbacks to clients, open and completed. A delivery is the calls to
/// one client for one slice; a call is one HTTP request, for one prefix. A load's slices are searched, and its deliveries made, while the
/// load sends: it is notifying or done (or failed while sending its mails), and its breach isn't hidden.
/// </summary>
public interface ICallbacks
{
    /// <summary>Acquires the lease on a client for this owner, unless the client is paused (<see cref="CallbackTurn.Pause"/>).</summary>
    /// <returns>Null if another owner holds the lease.</returns>
    Task<CallbackTurn?> TryBeginTurnAsync(int client, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Returns the due deliveries to a client, by load and slice.</summary>
    Task<IReadOnlyList<CallbackDelivery>> ListDueDeliveriesAsync(int client, int limit, CancellationToken cancellationToken);

    /// <summary>
    /// Records the progress of deliveries and renews the owner's lease on the client, if it is live. A delivery with failed calls is
    /// abandoned if it was attempted for all of <paramref name="giveUpAfter"/> and none of its calls was accepted.
    /// </summary>
    /// <param name="others">Further deliveries in progress.</param>
    /// <returns>The deliveries among both that must stop (done, dropped, or of a load that no longer sends). Null if another owner holds
    /// the client, and nothing was recorded.</returns>
    Task<IReadOnlyList<CallbackKey>?> RecordDeliveriesAsync(
        int client, string owner, TimeSpan lease, IReadOnlyList<CallbackResult> results, IReadOnlyList<CallbackKey> others,
        TimeSpan giveUpAfter, CancellationToken cancellationToken);

    /// <summary>
    /// Releases the owner's lease on the client. If calls were attempted for as long as <paramref name="giveUpAfter"/> and none was
    /// accepted, abandons the client's open deliveries that are at least that old and whose load sends.
    /// </summary>
    /// <returns>Delay until the next delivery, which needs a message; null if none is due within <paramref name="ahead"/>.</returns>
    Task<TimeSpan?> EndTurnAsync(
        int client, string owner, CallbackTurnEnd end, TimeSpan giveUpAfter, TimeSpan ahead, CancellationToken cancellationToken);

    Task<IReadOnlyList<(LoadId Load, int Client, long Calls)>> ListOpenCallsAsync(CancellationToken cancellationToken);

    /// <summary>Returns the state of each client that has open deliveries.</summary>
    /// <param name="lostAfter">A message that has been visible for this long counts as lost.</param>
    Task<IReadOnlyList<CallbackHealth>> ListCallbackHealthAsync(TimeSpan lostAfter, CancellationToken cancellationToken);
    Task MarkCallbackMessageSentAsync(int client, CancellationToken cancellationToken);

    /// <summary>Returns all deliveries, summarised by client and breach.</summary>
    Task<IReadOnlyList<CallbackSummary>> ListCallbacksAsync(CancellationToken cancellationToken);

    /// <summary>Reopens deliveries that were abandoned.</summary>
    /// <param name="client">Null: all clients.</param>
    /// <param name="breach">Null: all breaches.</param>
    /// <returns>The number of reopened calls.</returns>
    Task<long> RetryDeliveriesAsync(int? client, string? breach, CancellationToken cancellationToken);

    /// <summary>Drops deliveries that were abandoned: their remaining calls are not made.</summary>
    /// <param name="client">Null: all clients.</param>
    /// <param name="breach">Null: all breaches.</param>
    /// <param name="withOpen">Drop open deliveries too.</param>
    /// <returns>The deliveries, and the number of their remaining calls.</returns>
    Task<(IReadOnlyList<CallbackKey> Deliveries, long Calls)> DropDeliveriesAsync(
        int? client, string? breach, bool withOpen, string error, CancellationToken cancellationToken);

    /// <summary>Returns a slice of a load that sends and for which clients must be called.</summary>
    /// <returns>Null if there is none, or its load was replaced, is being removed, or doesn't send now.</returns>
    Task<CallSlice?> FindCallSliceAsync(LoadId load, int slice, CancellationToken cancellationToken);

    /// <summary>
    /// Returns the load's slices that were not searched yet, in order; none if no client must be called for the load now.
    /// </summary>
    Task<IReadOnlyList<Slice>> ListCallSlicesAsync(LoadId load, CancellationToken cancellationToken);
    Task MarkCallMessagesSentAsync(LoadId load, CancellationToken cancellationToken);

    /// <summary>Records why a load's slices can't be searched.</summary>
    /// <param name="failed">Retrying can't help: the slices are skipped until <see cref="RetryCallSlicesAsync"/>.</param>
    Task SetCallErrorAsync(LoadId load, string error, bool failed, CancellationToken cancellationToken);
    Task RetryCallSlicesAsync(LoadId load, CancellationToken cancellationToken);

    /// <summary>Records a slice as searched, with its deliveries, and completes the load's search after its last slice.</summary>
    /// <param name="calls">Number of calls by client.</param>
    /// <returns>The clients that need a message. Null if nothing was recorded, because the slice was recorded before, or no client is to be
    /// called for its load any more.</returns>
    Task<IReadOnlyList<int>?> RecordCallSliceAsync(
        LoadId load, int slice, IReadOnlyDictionary<int, int> calls, CancellationToken cancellationToken);
}

/// <summary>A slice of a published load that must be searched for the prefixes that clients watch.</summary>
/// <param name="Purged">Rows of its load are purged, at least some: read them from the journal.</param>
/// <param name="IsSearched">It was searched, and the result is recorded.</param>
/// <param name="CalledMarks">Marks of the replaced loads of the same blob name for which clients were called. Accounts with one of these
/// marks cause no further call.</param>
public sealed record CallSlice(Slice Slice, int Mark, Breach Breach, bool Purged, bool IsSearched, IReadOnlyList<int> CalledMarks);
