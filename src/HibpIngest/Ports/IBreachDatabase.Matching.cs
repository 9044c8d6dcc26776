using HibpIngest.Breaches;

namespace HibpIngest.Ports;

public partial interface IBreachDatabase
{
    /// <summary>
    /// Matches the rows in (<paramref name="after"/>, <paramref name="upTo"/>], set-based: notifications for individual subscribers (one per kind, subscriber, domain and breach, ever), and per
    /// subscribed domain the number of rows, added to the load's. Subscriptions made since matching started are passed over: they would see a part of the rows only. Begins with <c>UPDATE loads SET matched_position = @upTo WHERE id = @load AND matched_position = @after AND state = 'matching'</c>;
    /// false and nothing done where no row changed.
    /// </summary>
    Task<bool> MatchRowsAsync(long load, long after, long upTo, CancellationToken cancellationToken);

    /// <summary>
    /// Ends matching where the load is in state matching and matched to its last position. In one transaction: exact account and domain counts where duplicates were possible, domain notifications,
    /// unsent notifications of the breach that hang on failed loads taken over, the load's notifications numbered 1..n (those that have a number first, in its order), the breach published; state held (hold), notifying, or done when there is
    /// nothing to send (<paramref name="suppress"/>, for a retired breach, takes the load's open notifications away). Returns the state it set; null where the load was in no state for it.
    /// </summary>
    Task<LoadState?> FinishMatchingAsync(long load, bool hold, bool suppress, CancellationToken cancellationToken);

    /// <summary>Held becomes notifying; false in any other state.</summary>
    Task<bool> ReleaseLoadNotificationsAsync(long load, CancellationToken cancellationToken);

    /// <summary>The load's notifications numbered first..last in order, any state, for a preview.</summary>
    Task<IReadOnlyList<Notification>> ListNotificationsAsync(long load, int first, int last, CancellationToken cancellationToken);

    /// <summary>
    /// Claims, for the owner until the lease expires, those numbered first..last that are neither sent nor failed nor claimed by another whose claim is alive. None of a load that
    /// isn't notifying: a message from before must not send what is held or being matched again.
    /// </summary>
    /// <returns>The claimed ones, in order, and whether another owner holds any of the rest.</returns>
    Task<(IReadOnlyList<Notification> Claimed, bool OthersHeld)> ClaimNotificationsAsync(
        long load, int first, int last, string owner, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>It was sent, or (with an error of one line, no address in it) refused for good. Only while the owner holds the claim, or nobody does; false otherwise.</summary>
    Task<bool> CompleteNotificationAsync(long notification, string owner, string? error, CancellationToken cancellationToken);

    /// <summary>Gives claims of this owner back.</summary>
    Task ReleaseNotificationsAsync(long load, int first, int last, string owner, CancellationToken cancellationToken);

    /// <summary>Notifying becomes done where no notification is open, in a statement of its own. True for the one caller that changed it.</summary>
    Task<bool> TryFinishLoadAsync(long load, CancellationToken cancellationToken);
}
