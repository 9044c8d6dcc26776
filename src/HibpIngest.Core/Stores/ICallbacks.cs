namespace HibpIngest.Stores;

/// <summary>
/// The calls of clients: what is to be made, and was. A delivery is made while its load sends, as <see cref="ICallSlices"/> says.
/// </summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface ICallbacks
{
    /// <summary>
    /// Has this owner alone call a client until the lease ends, unless it is to be left alone yet; null: somebody else does.
    /// </summary>
    Task<CallbackTurn?> TryBeginTurnAsync(int client, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Deliveries to a client that are due, those first that were recorded first.</summary>
    Task<IReadOnlyList<CallbackDelivery>> ListDueDeliveriesAsync(int client, int most, CancellationToken cancellationToken);

    /// <summary>
    /// Records how far deliveries are, while the owner's lease on the client is alive, and prolongs that. One of which calls have failed is
    /// given up where none of it was accepted for as long as <paramref name="giveUpAfter"/>, though it was tried all that time.
    /// </summary>
    /// <param name="others">Further ones that are being made.</param>
    /// <returns>Those among both that are not to be gone on with (done, dropped, or of a load that sends no more); null: the client is
    /// somebody else's by now, and nothing was recorded.</returns>
    Task<IReadOnlyList<CallbackKey>?> RecordDeliveriesAsync(
        int client, string owner, TimeSpan lease, IReadOnlyList<CallbackResult> results, IReadOnlyList<CallbackKey> others,
        TimeSpan giveUpAfter, CancellationToken cancellationToken);

    /// <summary>
    /// Ends the owner's turn. Where no call was accepted for as long as <paramref name="giveUpAfter"/>, though some were tried all that
    /// time, all of the client's that could have been made are given up that were recorded so long ago.
    /// </summary>
    /// <returns>When the next delivery is due, and a message is to be sent for it; null: there is none within
    /// <paramref name="ahead"/>.</returns>
    Task<TimeSpan?> EndTurnAsync(
        int client, string owner, CallbackTurnEnd end, TimeSpan giveUpAfter, TimeSpan ahead, CancellationToken cancellationToken);

    /// <summary>Returns how many calls are to be made yet, by load and client.</summary>
    Task<IReadOnlyList<(long Load, int Client, long Calls)>> ListOpenCallsAsync(CancellationToken cancellationToken);

    /// <summary>Of each client that has open deliveries, how it is doing.</summary>
    /// <param name="lostAfter">A message that could be seen for so long is lost.</param>
    Task<IReadOnlyList<CallbackHealth>> ListCallbackHealthAsync(TimeSpan lostAfter, CancellationToken cancellationToken);

    /// <summary>A message for the client is on its way.</summary>
    Task MarkCallbackMessageSentAsync(int client, CancellationToken cancellationToken);

    /// <summary>All deliveries, by client and breach.</summary>
    Task<IReadOnlyList<CallbackSummary>> ListCallbacksAsync(CancellationToken cancellationToken);

    /// <summary>Deliveries that were given up are open again. Returns how many calls.</summary>
    /// <param name="client">Of this client; null: of all.</param>
    /// <param name="breach">Because of this breach; null: of all.</param>
    Task<long> RetryDeliveriesAsync(int? client, string? breach, CancellationToken cancellationToken);

    /// <summary>Deliveries that were given up are not made any more. Returns them, and how many calls they had yet.</summary>
    /// <param name="client">Of this client; null: of all.</param>
    /// <param name="breach">Because of this breach; null: of all.</param>
    /// <param name="withOpen">Open ones too.</param>
    Task<(IReadOnlyList<CallbackKey> Deliveries, long Calls)> DropDeliveriesAsync(
        int? client, string? breach, bool withOpen, string error, CancellationToken cancellationToken);
}
