namespace HibpIngest.Pipeline.Matching;

// Event ids 1200-1299; a contract.
public sealed partial class MatchSubscribers
{
    [LoggerMessage(
        EventIds.MatchSubscribersMatched, LogLevel.Information,
        "load {Load} of {Breach}: matched ({Notifications} notifications), now {State}")]
    private partial void LogMatched(long load, string breach, int notifications, LoadState state);

    [LoggerMessage(EventIds.MatchSubscribersFailed, LogLevel.Error, "load {Load} of {Breach}: matching failed: {Reason}")]
    private partial void LogFailed(long load, string breach, string reason);

    [LoggerMessage(
        EventIds.MatchSubscribersHandedOn, LogLevel.Information,
        "load {Load} of {Breach}: matching time budget used up, continued by a message")]
    private partial void LogHandedOn(long load, string breach);

    [LoggerMessage(EventIds.MatchSubscribersLost, LogLevel.Information, "load {Load}: matching stopped, lease lost to another worker")]
    private partial void LogLost(long load);
}
