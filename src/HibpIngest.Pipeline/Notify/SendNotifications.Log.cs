using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

// Event ids 1300-1399; a contract.
public sealed partial class SendNotifications
{
    [LoggerMessage(EventIds.SendNotificationsSent, LogLevel.Information,
        "load {Load} of {Breach}: notifications {First} to {Last}: {Sent} sent, {Refused} refused for good, "
        + "{Deferred} to come again later")]
    private partial void LogSent(long load, string breach, int first, int last, int sent, int refused, int deferred);

    [LoggerMessage(EventIds.SendNotificationsClaimLost, LogLevel.Warning, "load {Load}: notification {Number} was sent after its claim "
        + "had run out; a second copy is possible")]
    private partial void LogClaimLost(long load, int number);

    [LoggerMessage(EventIds.SendNotificationsStopped, LogLevel.Error, "load {Load} of {Breach} failed in notifying: {Reason}")]
    private partial void LogStopped(long load, string breach, string reason);

    [LoggerMessage(EventIds.SendNotificationsDone, LogLevel.Information, "load {Load} of {Breach} is done")]
    private partial void LogDone(long load, string breach);

    [LoggerMessage(
        EventIds.SendNotificationsDeferred, LogLevel.Warning, "load {Load}: notification {Number} is tried again in {Delay}: {Reason}")]
    private partial void LogDeferred(long load, int number, TimeSpan delay, string reason);

    [LoggerMessage(EventIds.SendNotificationsHeld, LogLevel.Information, "load {Load} of {Breach}: its mails were held or hidden after "
        + "notification {Number}")]
    private partial void LogHeld(long load, string breach, int number);
}
