namespace HibpIngest.Stores;

/// <summary>The notifications to be sent, and their outcome.</summary>
public interface INotifications
{
    /// <summary>Changes held to notifying, and clears the hold reason.</summary>
    /// <returns>False in any other state.</returns>
    Task<bool> ReleaseLoadNotificationsAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// Holds a breach's notifying loads, and its done loads with outstanding calls, with this reason. Loads that are not matched yet, or
    /// failed before their mails were sent, will be held later.
    /// </summary>
    /// <returns>The loads that are held now.</returns>
    /// <exception cref="Errors.NotPossibleException">No such breach.</exception>
    Task<IReadOnlyList<long>> HoldLoadsAsync(string breach, string because, CancellationToken cancellationToken);

    /// <summary>Returns the load's notifications numbered first..last in order, in any state, for a preview.</summary>
    Task<IReadOnlyList<Notification>> ListNotificationsAsync(long load, int first, int last, CancellationToken cancellationToken);

    /// <summary>Returns the progress of a load's mails by index probes, at a cost independent of their number.</summary>
    Task<MailProgress?> GetMailProgressAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// Records that notifications up to <paramref name="to"/> are about to get their messages (or, after sending failed, have got them).
    /// </summary>
    /// <returns>False, with nothing changed, if the recorded number isn't <paramref name="from"/>.</returns>
    Task<bool> TryQueueMailsAsync(long load, int from, int to, CancellationToken cancellationToken);

    /// <summary>
    /// Resets the queued mails of a notifying load for which no message was sent for this long (or since it entered the state): its
    /// messages must be sent again, from the first waiting notification.
    /// </summary>
    /// <returns>True for the one caller that must send them.</returns>
    Task<bool> TryRestartMailsAsync(long load, TimeSpan age, CancellationToken cancellationToken);

    /// <summary>
    /// Makes deferred notifications of a notifying load claimable whose delay has passed; at most <paramref name="limit"/>.
    /// </summary>
    /// <returns>Their numbers, ascending.</returns>
    Task<IReadOnlyList<int>> ClaimDueNotificationsAsync(long load, int limit, CancellationToken cancellationToken);

    /// <summary>
    /// Reserves the time that this many mails take at the rate of the whole system, and claims notifications for the owner until the lease
    /// expires: those numbered first..last that are not sent, failed, deferred, or claimed by another owner whose claim is live. Each claim
    /// counts as an attempt. Claims nothing if the load isn't notifying (an old message must not send mails that are held or being matched
    /// again), or while its breach is hidden.
    /// </summary>
    Task<NotificationClaims> ClaimNotificationsAsync(long load, int first, int last, ClaimOrder order, CancellationToken cancellationToken);

    /// <summary>
    /// Records that a notification was sent, or permanently refused. Recorded only if the owner holds the claim, or none does.
    /// </summary>
    /// <param name="refusal">Null: it was sent.</param>
    Task<NotificationEnd> CompleteNotificationAsync(
        long notification, string owner, MailRefusal? refusal, CancellationToken cancellationToken);

    /// <summary>
    /// Defers a notification, because the recipient's server or a source of its text asked to retry later: releases the claim, and allows
    /// no new one before <paramref name="delay"/> has passed. If it was first deferred at least <paramref name="giveUpAfter"/> ago, it is
    /// permanently refused. Recorded as in <see cref="CompleteNotificationAsync"/>.
    /// </summary>
    Task<NotificationEnd> DeferNotificationAsync(long notification, string owner, string error, TimeSpan delay, TimeSpan giveUpAfter,
        CancellationToken cancellationToken);

    /// <summary>
    /// Releases this owner's claims and uncounts their attempts: an owner that can still release them was not crashed by them.
    /// </summary>
    Task ReleaseNotificationsAsync(long load, int first, int last, string owner, CancellationToken cancellationToken);

    /// <summary>Changes notifying to done if no notification is open (deferred ones are open), in a statement of its own.</summary>
    /// <returns>True for the one caller that changed the state.</returns>
    Task<bool> TryFinishLoadAsync(long load, CancellationToken cancellationToken);
}

/// <param name="Limit">Maximum number of claims; the lowest numbers are claimed first.</param>
/// <param name="PerSecond">Mails per second of the whole system.</param>
/// <param name="Ahead">If the send time of the first mail lies further ahead than this, nothing is claimed and no time is reserved.</param>
public sealed record ClaimOrder(string Owner, TimeSpan Lease, int Limit, double PerSecond, TimeSpan Ahead);

/// <param name="Claimed">In order.</param>
/// <param name="OthersHeld">Another owner holds some of the others.</param>
public sealed record NotificationClaims(IReadOnlyList<Notification> Claimed, bool OthersHeld)
{
    public static readonly NotificationClaims None = new([], false);

    /// <summary>Delay until the time reserved for the first mail.</summary>
    public TimeSpan StartsIn { get; init; }

    /// <summary>Delay until the system's rate has free time: nothing was claimed. Null: time was available.</summary>
    public TimeSpan? NoneBefore { get; init; }

    /// <summary>There are more to claim than the maximum.</summary>
    public bool More { get; init; }
}

/// <summary>The permanent refusal of a mail.</summary>
/// <param name="Error">One line, without an address.</param>
/// <param name="IsUnknown">The address does not exist. This is counted for the subscription, until a mail is sent.</param>
public sealed record MailRefusal(string Error, bool IsUnknown = false);

/// <param name="Recorded">False: another owner has claimed or completed it.</param>
/// <param name="MayContinue">Its load is still notifying and its breach not hidden: the next mail may be sent.</param>
/// <param name="Refused">It was deferred for too long, and is permanently refused.</param>
/// <param name="Unknown">How often in a row a mail of the subscription was refused because the address does not exist.</param>
public readonly record struct NotificationEnd(bool Recorded, bool MayContinue, bool Refused = false, int Unknown = 0);

/// <param name="MaySend">The load is notifying, and its breach isn't hidden.</param>
/// <param name="Queued">Notifications up to this number have a message.</param>
/// <param name="FirstWaiting">The lowest number that is open and not deferred; null: none is.</param>
public sealed record MailProgress(bool MaySend, int Queued, int? FirstWaiting, int Last);
