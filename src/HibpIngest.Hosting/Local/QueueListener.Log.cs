using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting.Local;

internal sealed partial class QueueListener
{
    [LoggerMessage(
        EventIds.QueueListenerFailed, LogLevel.Warning, "{Queue}: message {Message} failed at delivery {Attempt} of {Tries}: {Reason}")]
    private partial void LogFailed(string queue, string message, long attempt, int tries, string reason);

    [LoggerMessage(EventIds.QueueListenerPoisoned, LogLevel.Error, "{Queue}: message {Message} has used up its {Tries} deliveries and is "
        + "now in {Queue}-poison; see: hibp poison list {Queue}")]
    private partial void LogPoisoned(string queue, string message, long tries);

    [LoggerMessage(EventIds.QueueListenerLost, LogLevel.Warning, "{Queue}: message {Message} was handed out again before its work was "
        + "done; the work goes on, and may be done twice")]
    private partial void LogLost(string queue, string message);

    [LoggerMessage(EventIds.QueueListenerNotRenewed, LogLevel.Warning, "{Queue}: message {Message} could not be kept invisible, trying "
        + "again soon: {Reason}")]
    private partial void LogNotRenewed(string queue, string message, string reason);

    [LoggerMessage(EventIds.QueueListenerNotSettled, LogLevel.Warning, "{Queue}: what became of message {Message} could not be told to "
        + "the queue, so it comes back: {Reason}")]
    private partial void LogNotSettled(string queue, string message, string reason);

    [LoggerMessage(EventIds.QueueListenerStillAtWork, LogLevel.Warning, "{Queue}: message {Message} did not come to a stop within "
        + "{Timeout}; it is given back")]
    private partial void LogStillAtWork(string queue, string message, TimeSpan timeout);
}
