namespace HibpIngest.Stores;

/// <summary>The matching of a load's rows with the subscribers; the notifications to be sent, and their outcome.</summary>
public interface INotifications
{
    /// <summary>Changes held to notifying, and clears the hold reason.</summary>
    /// <returns>False in any other state.</returns>
    Task<bool> ReleaseLoadNotificationsAsync(LoadId load, CancellationToken cancellationToken);

    /// <summary>
    /// Holds a breach's notifying loads, and its done loads with outstanding calls, with this reason. Loads that are not matched yet, or
    /// failed before their mails were sent, will be held later.
    /// </summary>
    /// <returns>The loads that are held now.</returns>
    /// <exception cref="Errors.NotPossibleException">No such breach.</exception>
    Task<IReadOnlyList<LoadId>> HoldLoadsAsync(string breach, string reason, CancellationToken cancellationToken);

    /// <summary>Returns the load's notifications numbered first..last in order, in any state, for a preview.</summary>
    Task<IReadOnlyList<Notification>> ListNotificationsAsync(LoadId load, int first, int last, CancellationToken cancellationToken);

    /// <summary>Returns the progress of a load's mails by index probes, at a cost independent of their number.</summary>
    Task<MailProgress?> GetMailProgressAsync(LoadId load, CancellationToken cancellationToken);

    /// <summary>
    /// Records that notifications up to <paramref name="to"/> are about to get their messages (or, after sending failed, have got them).
    /// </summary>
    /// <returns>False, with nothing changed, if the recorded number isn't <paramref name="from"/>.</returns>
    Task<bool> TryQueueMailsAsync(LoadId load, int from, int to, CancellationToken cancellationToken);

    /// <summary>
    /// If no message was sent for a notifying load for <paramref name="age"/> (or since it entered the state), resets its queue position to
    /// the first waiting notification, so that the caller sends the messages again.
    /// </summary>
    /// <returns>True for the one caller that must send them.</returns>
    Task<bool> TryRestartMailsAsync(LoadId load, TimeSpan age, CancellationToken cancellationToken);

    /// <summary>
    /// Ends the deferral of up to <paramref name="limit"/> notifications of a notifying load whose delay has passed, so that they can be
    /// claimed.
    /// </summary>
    /// <returns>Their numbers, ascending.</returns>
    Task<IReadOnlyList<int>> EndDeferralsAsync(LoadId load, int limit, CancellationToken cancellationToken);

    /// <summary>
    /// Claims up to order.Limit of the notifications first..last for order.Owner until the lease expires, and reserves sending time for
    /// them at order.PerSecond. Skips notifications that are sent, failed, deferred, or claimed by another owner whose claim is live. Each
    /// claim counts as an attempt. Claims nothing if the load isn't notifying (an old message must not send mails that are held or being
    /// matched again), or while its breach is hidden.
    /// </summary>
    Task<NotificationClaims> ClaimNotificationsAsync(
        LoadId load, int first, int last, ClaimOrder order, CancellationToken cancellationToken);

    /// <summary>
    /// Records that a notification was sent, or permanently refused. Recorded only if the owner holds the claim, or none does.
    /// </summary>
    /// <param name="refusal">Null: it was sent.</param>
    Task<NotificationOutcome> CompleteNotificationAsync(
        long notification, string owner, MailRefusal? refusal, CancellationToken cancellationToken);

    /// <summary>
    /// Defers a notification, because the recipient's server or a source of its text asked to retry later: releases the claim, and allows
    /// no new one before <paramref name="delay"/> has passed. If it was first deferred at least <paramref name="giveUpAfter"/> ago, it is
    /// permanently refused. Recorded as in <see cref="CompleteNotificationAsync"/>.
    /// </summary>
    Task<NotificationOutcome> DeferNotificationAsync(long notification, string owner, string error, TimeSpan delay, TimeSpan giveUpAfter,
        CancellationToken cancellationToken);

    /// <summary>
    /// Releases this owner's claims and uncounts their attempts: an owner that can still release them was not crashed by them.
    /// </summary>
    Task ReleaseClaimsAsync(LoadId load, int first, int last, string owner, CancellationToken cancellationToken);

    /// <summary>Changes notifying to done if no notification is open (deferred ones are open), in a statement of its own.</summary>
    /// <returns>True for the one caller that changed the state.</returns>
    Task<bool> TryFinishLoadAsync(LoadId load, CancellationToken cancellationToken);

    /// <summary>
    /// Changes upserting to matching (MatchedPosition 0, UpsertedAt now) if every slice is done, in a statement of its own.
    /// </summary>
    /// <returns>True for the one caller that changed the state.</returns>
    Task<bool> TryStartMatchingAsync(LoadId load, CancellationToken cancellationToken);

    /// <summary>
    /// Returns a held load that was not published (<see cref="HoldReason.NotPublished"/>) to matching without a hold: the end of its match
    /// runs again and publishes it.
    /// </summary>
    /// <returns>False in any other case.</returns>
    Task<bool> ReleaseUnpublishedAsync(LoadId load, CancellationToken cancellationToken);

    /// <summary>
    /// Matches the rows in (<paramref name="after"/>, <paramref name="upTo"/>], set-based: creates notifications for individual subscribers
    /// (one per kind, subscriber, domain and breach, ever), and adds the number of rows per subscribed domain to the load's counts.
    /// Subscriptions made after matching started are skipped: they would see only part of the rows. If an older load of the same blob name
    /// that is not matched yet has an open notification for a matched subscriber, this load takes it over. Begins with <c>UPDATE loads SET
    /// matched_position = @upTo WHERE id = @load AND matched_position = @after AND state = 'matching'</c>. Counts as progress (attempts 0).
    /// </summary>
    /// <param name="after">End of the previous range.</param>
    /// <param name="lease">If the load is leased, its lease is renewed for this long at the end: the range may have outlasted it.</param>
    /// <returns>False if that update changed no row: nothing was done.</returns>
    Task<bool> MatchRowsAsync(LoadId load, long after, long upTo, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>
    /// Does the next step of finishing a match, if the load is in state matching and matched to its last position. Each step is one
    /// transaction over at most as many rows as <paramref name="end"/> allows, is recorded, and counts as progress. The steps: exact
    /// account and domain counts if duplicates were possible; take-over of unsent notifications from failed loads of the breach (if one was
    /// held, this load is held too); domain notifications; numbering of notifications that have no number. The last step is one
    /// transaction: it merges the metadata document, publishes the load in place of older ones of the same blob name, and sets the state to
    /// held (by its metadata, by <see cref="MatchEnd.Hold"/>, or because of a take-over), notifying, or done if there is nothing to send.
    /// Open notifications are deleted if the breach is retired, or if a newer load of the same blob name is published: this load is then
    /// done, unpublished, and replaced by that one.
    /// </summary>
    /// <returns>The state after the step: matching if there are more steps. Null if the load was in another state.</returns>
    /// <exception cref="Errors.BadInputException">The metadata document can't be read.</exception>
    Task<LoadState?> FinishMatchingAsync(LoadId load, MatchEnd end, CancellationToken cancellationToken);
}

/// <param name="Limit">Maximum number of claims; the lowest numbers are claimed first.</param>
/// <param name="PerSecond">Mails per second of the whole system.</param>
/// <param name="MaxLeadTime">
/// If the send time of the first mail lies further ahead than this, nothing is claimed and no time is reserved.
/// </param>
public sealed record ClaimOrder(string Owner, TimeSpan Lease, int Limit, double PerSecond, TimeSpan MaxLeadTime);

/// <param name="Claimed">The claimed notifications, by number.</param>
/// <param name="HeldByOthers">Another owner holds some of the notifications that were not claimed.</param>
public sealed record NotificationClaims(IReadOnlyList<Notification> Claimed, bool HeldByOthers)
{
    public static readonly NotificationClaims None = new([], false);

    /// <summary>Delay until the time reserved for the first mail.</summary>
    public TimeSpan StartsIn { get; init; }

    /// <summary>Delay after which sending time is available again; nothing was claimed. Null if time was available.</summary>
    public TimeSpan? RetryAfter { get; init; }

    /// <summary>There are more to claim than the maximum.</summary>
    public bool HasMore { get; init; }
}

/// <summary>The permanent refusal of a mail.</summary>
/// <param name="Error">One line, without an address.</param>
/// <param name="IsUnknown">The address does not exist. This is counted for the subscription, until a mail is sent.</param>
public sealed record MailRefusal(string Error, bool IsUnknown = false);

/// <param name="Recorded">False: another owner has claimed or completed it.</param>
/// <param name="MayContinue">Its load is still notifying and its breach not hidden: the next mail may be sent.</param>
/// <param name="Refused">It was deferred for too long, and is permanently refused.</param>
/// <param name="UnknownInARow">How often in a row a mail of the subscription was refused because the address does not exist.</param>
public readonly record struct NotificationOutcome(bool Recorded, bool MayContinue, bool Refused = false, int UnknownInARow = 0);

/// <param name="MaySend">The load is notifying, and its breach isn't hidden.</param>
/// <param name="Queued">Notifications up to this number have a message.</param>
/// <param name="FirstWaiting">The lowest number that is open and not deferred; null if none is.</param>
public sealed record MailProgress(bool MaySend, int Queued, int? FirstWaiting, int Last);

/// <param name="Metadata">The breach's metadata document, read again; null if there is none that applies to this breach.</param>
/// <param name="Hold">Hold the mails for an operator, even if the document doesn't ask for it.</param>
/// <param name="HeldBecause">Hold the mails, with a reason that is recorded in the load.</param>
public sealed record MatchEnd(ReadOnlyMemory<byte>? Metadata, bool Hold, string? HeldBecause = null)
{
    /// <summary>
    /// Maximum number of notifications (and subscriptions checked) per step: takes some seconds, with a transaction log that fits every
    /// tier.
    /// </summary>
    public int StepRows { get; init; } = 50_000;

    /// <summary>
    /// Accounts sorted by one step of an exact count; each step reads the whole load. 20 million take some GB of a server's temporary
    /// space.
    /// </summary>
    public long CountRows { get; init; } = 20_000_000;

    /// <summary>Clients must be called for the load.</summary>
    public bool CallsClients { get; init; }

    /// <summary>If the load is leased, its lease is renewed for this long at the end of each step.</summary>
    public TimeSpan Lease { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>Returns the number of parts for an exact count of this many rows.</summary>
    public int CountParts(long rows) => (int)Math.Clamp((rows + CountRows - 1) / CountRows, 1, MaxCountParts);

    /// <summary>The part of an account depends on some of its characters, which yield no more parts than this.</summary>
    private const int MaxCountParts = 1_000;

    /// <summary>Returns whether a load with this metadata waits for an operator.</summary>
    public bool Holds(BreachMetadata metadata) => Hold || metadata.Notify == NotifyMode.Hold;
}
