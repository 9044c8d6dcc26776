using HibpIngest.Breaches;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

// Event ids 1200-1299; a contract.
public sealed partial class MatchSubscribers
{
    [LoggerMessage(1200, LogLevel.Information, "load {Load} of {Breach}: {Notifications} notifications matched, now {State}")]
    private partial void LogMatched(long load, string breach, int notifications, LoadState state);

    [LoggerMessage(1201, LogLevel.Error, "load {Load} of {Breach} failed in matching: {Reason}")]
    private partial void LogFailed(long load, string breach, string reason);
}
