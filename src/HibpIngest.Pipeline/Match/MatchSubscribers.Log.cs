using HibpIngest.Breaches;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

// Event ids 1200-1299; a contract.
public sealed partial class MatchSubscribers
{
    [LoggerMessage(EventIds.MatchSubscribersMatched, LogLevel.Information, "load {Load} of {Breach}: {Notifications} notifications "
        + "matched, now {State}")]
    private partial void LogMatched(long load, string breach, int notifications, LoadState state);

    [LoggerMessage(EventIds.MatchSubscribersFailed, LogLevel.Error, "load {Load} of {Breach} failed in matching: {Reason}")]
    private partial void LogFailed(long load, string breach, string reason);

    [LoggerMessage(EventIds.MatchSubscribersHandedOn, LogLevel.Information,
        "load {Load} of {Breach}: the time budget is used up; its matching goes on with the next message")]
    private partial void LogHandedOn(long load, string breach);

    [LoggerMessage(EventIds.MatchSubscribersLost, LogLevel.Information, "load {Load} is matched elsewhere by now")]
    private partial void LogLost(long load);
}
