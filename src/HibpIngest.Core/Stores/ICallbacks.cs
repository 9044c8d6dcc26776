namespace HibpIngest.Stores;

/// <summary>
/// The callbacks to clients, open and completed. A delivery is made while its load sends, as defined by <see cref="ICallSlices"/>.
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
    /// <returns>The deliveries among both that must stop (done, dropped, or of a load that no longer sends). Null: another owner holds the
    /// client, and nothing was recorded.</returns>
    Task<IReadOnlyList<CallbackKey>?> RecordDeliveriesAsync(
        int client, string owner, TimeSpan lease, IReadOnlyList<CallbackResult> results, IReadOnlyList<CallbackKey> others,
        TimeSpan giveUpAfter, CancellationToken cancellationToken);

    /// <summary>
    /// Releases the owner's lease on the client. If calls were attempted for all of <paramref name="giveUpAfter"/> and none was accepted,
    /// all deliveries that could have been made and were recorded at least that long ago are abandoned.
    /// </summary>
    /// <returns>Delay until the next delivery, which needs a message; null: none is due within <paramref name="ahead"/>.</returns>
    Task<TimeSpan?> EndTurnAsync(
        int client, string owner, CallbackTurnEnd end, TimeSpan giveUpAfter, TimeSpan ahead, CancellationToken cancellationToken);

    Task<IReadOnlyList<(long Load, int Client, long Calls)>> ListOpenCallsAsync(CancellationToken cancellationToken);

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
}
