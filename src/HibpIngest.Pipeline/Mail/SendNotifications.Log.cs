namespace HibpIngest.Pipeline.Mail;

// Event ids 1300-1399; a contract.
public sealed partial class SendNotifications
{
    [LoggerMessage(
        EventIds.SendNotificationsSent, LogLevel.Information,
        "load {Load} of {Breach}: notifications {First} to {Last} processed ({Sent} sent, {Refused} refused, {Deferred} deferred)")]
    private partial void LogSent(long load, string breach, int first, int last, int sent, int refused, int deferred);

    [LoggerMessage(
        EventIds.SendNotificationsClaimLost, LogLevel.Warning,
        "load {Load}: notification {Number} sent after its claim expired; a second copy is possible")]
    private partial void LogClaimLost(long load, int number);

    [LoggerMessage(EventIds.SendNotificationsStopped, LogLevel.Error, "load {Load} of {Breach}: notifying failed: {Reason}")]
    private partial void LogStopped(long load, string breach, string reason);

    [LoggerMessage(EventIds.SendNotificationsDone, LogLevel.Information, "load {Load} of {Breach}: done")]
    private partial void LogDone(long load, string breach);

    [LoggerMessage(
        EventIds.SendNotificationsDeferred, LogLevel.Warning, "load {Load}: notification {Number} deferred for {Delay}: {Reason}")]
    private partial void LogDeferred(long load, int number, TimeSpan delay, string reason);

    [LoggerMessage(
        EventIds.SendNotificationsHeld, LogLevel.Information, "load {Load} of {Breach}: mails held or hidden after notification {Number}")]
    private partial void LogHeld(long load, string breach, int number);
}
