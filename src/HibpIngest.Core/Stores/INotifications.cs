using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>Whom to tell, and who has been told.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface INotifications
{
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
    /// <paramref name="giveUpAfter"/> ago or earlier, it is refused for good. Recorded as in
    /// <see cref="CompleteNotificationAsync"/>.
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
