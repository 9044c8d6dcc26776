using HibpIngest.Breaches;

namespace HibpIngest.Ports;

public partial interface IBreachDatabase
{
    /// <summary>
    /// Matches the rows in (<paramref name="after"/>, <paramref name="upTo"/>], set-based: notifications for individual subscribers (one per kind, subscriber, domain and breach, ever), and per
    /// subscribed domain the number of rows, added to the load's. Subscriptions made since matching started are
    /// passed over: they would see a part of the rows only. What an older load of the same blob name has found and
    /// not told, and is
    /// not matched itself yet, is this one's. Begins with
    /// <c>UPDATE loads SET matched_position = @upTo WHERE id = @load AND matched_position = @after AND state =
    /// 'matching'</c>; false and nothing done where no row changed. The load has got on
    /// (attempts 0).
    /// </summary>
    /// <param name="load">The load.</param>
    /// <param name="after">Where the range before it ended.</param>
    /// <param name="upTo">Its last position.</param>
    /// <param name="lease">The load's lease lasts so long from the end on, where somebody holds it: the range may
    /// have taken longer than it.</param>
    /// <param name="cancellationToken">Rolls back.</param>
    Task<bool> MatchRowsAsync(long load, long after, long upTo, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>
    /// Does the next step of the end of matching, where the load is in state matching and matched to its last
    /// position; each is one transaction over at most so many rows as
    /// <paramref name="end"/> says, is recorded, and counts as getting on. The steps: exact account and domain counts
    /// where duplicates were possible; what failed loads of the breach had yet to
    /// send is taken over (from one that was held: this one is then held too); domain notifications; those without a
    /// number get the next ones, the others keep theirs. The last step ends it in
    /// one transaction: the metadata document is merged, the load is published in the place of older ones of the same
    /// blob name, and its state is held (by its metadata, by
    /// <see cref="MatchEnd.Hold"/>, or because of what it took over), notifying, or done when there is nothing to
    /// send. A retired breach sends nothing: the load's open notifications are taken
    /// away. So they are where a newer load of the same blob name is published already: this one is then done,
    /// unpublished, replaced by that one.
    /// </summary>
    /// <returns>The state behind the step: matching while there are more. Null where the load was in no state for it.</returns>
    /// <exception cref="Errors.BadInputException">The metadata document can't be read.</exception>
    Task<LoadState?> FinishMatchingAsync(long load, MatchEnd end, CancellationToken cancellationToken);

    /// <summary>Held becomes notifying, nothing holding it any more; false in any other state.</summary>
    Task<bool> ReleaseLoadNotificationsAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// Takes a breach's loads back that are notifying: held, with that reason; those that are not matched yet, or
    /// have failed before their mails were out, will be. Returns those that are held now.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">No such breach.</exception>
    Task<IReadOnlyList<long>> HoldLoadsAsync(string breach, string because, CancellationToken cancellationToken);

    /// <summary>The load's notifications numbered first..last in order, any state, for a preview.</summary>
    Task<IReadOnlyList<Notification>> ListNotificationsAsync(long load, int first, int last, CancellationToken cancellationToken);

    /// <summary>How far a load's mails are, by probes, however many they are; null where there is no such load.</summary>
    Task<MailProgress?> GetMailProgressAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// Notifications up to <paramref name="to"/> are about to get (or, where sending failed, have got) their
    /// messages. False, and nothing done, where <paramref name="from"/> isn't how far they had.
    /// </summary>
    Task<bool> TryQueueMailsAsync(long load, int from, int to, CancellationToken cancellationToken);

    /// <summary>
    /// A notifying load, none of whose messages was sent for so long (or ever, since its state was entered): its
    /// messages are to be sent again, from the first that waits on. True for the one caller
    /// that is to do so.
    /// </summary>
    Task<bool> TryRestartMailsAsync(long load, TimeSpan age, CancellationToken cancellationToken);

    /// <summary>
    /// Of a notifying load's deferred notifications those whose time has come wait like any other from now on; at
    /// most <paramref name="most"/>. Returns their numbers, ascending.
    /// </summary>
    Task<IReadOnlyList<int>> TakeDueNotificationsAsync(long load, int most, CancellationToken cancellationToken);

    /// <summary>
    /// Reserves the time that so many mails take at the rate of the whole system, and claims, for the owner until the
    /// lease expires, those numbered first..last that are neither sent nor failed,
    /// nor deferred, nor claimed by another whose claim is alive; each such claim counts as an attempt. None of a
    /// load that isn't notifying (a message from before must not send what is held or
    /// being matched again), and none while its breach is hidden.
    /// </summary>
    Task<NotificationClaims> ClaimNotificationsAsync(long load, int first, int last, ClaimOrder order, CancellationToken cancellationToken);

    /// <summary>
    /// It was sent, or (with an error of one line, no address in it) refused for good. Recorded only while the owner
    /// holds the claim, or nobody does.
    /// </summary>
    Task<NotificationEnd> CompleteNotificationAsync(long notification, string owner, string? error, CancellationToken cancellationToken);

    /// <summary>
    /// Its recipient's server, or what its text is made from, asked to come again later: given back, not to be
    /// claimed before <paramref name="delay"/> has passed. Where it was first deferred
    /// <paramref name="giveUpAfter"/> ago or earlier, it is refused for good. Recorded as in <see cref="CompleteNotificationAsync"/>.
    /// </summary>
    Task<NotificationEnd> DeferNotificationAsync(long notification, string owner, string error, TimeSpan delay, TimeSpan giveUpAfter,
        CancellationToken cancellationToken);

    /// <summary>
    /// Gives claims of this owner back, and their attempts with them: whoever can still give them back was not ended
    /// by them.
    /// </summary>
    Task ReleaseNotificationsAsync(long load, int first, int last, string owner, CancellationToken cancellationToken);

    /// <summary>
    /// Notifying becomes done where no notification is open, deferred ones among them, in a statement of its own.
    /// True for the one caller that changed it.
    /// </summary>
    Task<bool> TryFinishLoadAsync(long load, CancellationToken cancellationToken);
}
