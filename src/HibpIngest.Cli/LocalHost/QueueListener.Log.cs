using Microsoft.Extensions.Logging;

namespace HibpIngest.Cli.LocalHost;

internal sealed partial class QueueListener
{
    [LoggerMessage(
        EventIds.QueueListenerFailed, LogLevel.Warning, "{Queue}: message {Message} failed (attempt {Attempt} of {Tries}): {Reason}")]
    private partial void LogFailed(string queue, string message, long attempt, int tries, string reason);

    [LoggerMessage(
        EventIds.QueueListenerPoisoned, LogLevel.Error,
        "{Queue}: message {Message} moved to {Queue}-poison after {Tries} attempts; see: hibp poison list {Queue}")]
    private partial void LogPoisoned(string queue, string message, long tries);

    [LoggerMessage(
        EventIds.QueueListenerLost, LogLevel.Warning,
        "{Queue}: message {Message} redelivered while its work was running; the work continues and may run twice")]
    private partial void LogLost(string queue, string message);

    [LoggerMessage(
        EventIds.QueueListenerNotRenewed, LogLevel.Warning, "{Queue}: message {Message} visibility not renewed, retrying: {Reason}")]
    private partial void LogNotRenewed(string queue, string message, string reason);

    [LoggerMessage(
        EventIds.QueueListenerNotSettled, LogLevel.Warning,
        "{Queue}: message {Message} result not recorded in the queue, it will be redelivered: {Reason}")]
    private partial void LogNotSettled(string queue, string message, string reason);

    [LoggerMessage(
        EventIds.QueueListenerStillAtWork, LogLevel.Warning,
        "{Queue}: message {Message} still running {Timeout} after the stop; made visible again for redelivery")]
    private partial void LogStillAtWork(string queue, string message, TimeSpan timeout);
}
