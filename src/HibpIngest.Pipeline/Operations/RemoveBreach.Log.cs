using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

// Event ids 1800-1899; a contract.
public sealed partial class RemoveBreach
{
    [LoggerMessage(EventIds.RemoveBreachBegun, LogLevel.Information, "removing {Loads} loads of {Breach}: no reader sees them from now on")]
    private partial void LogBegun(string breach, int loads);

    [LoggerMessage(EventIds.RemoveBreachWaiting, LogLevel.Information, "removing {Breach}: a slice is still under way")]
    private partial void LogWaiting(string breach);

    [LoggerMessage(EventIds.RemoveBreachMarkStays, LogLevel.Warning, "mark {Mark} stays on the accounts: another load has it too")]
    private partial void LogMarkStays(int mark);

    [LoggerMessage(EventIds.RemoveBreachRemoved, LogLevel.Information, "load {Load} of {Breach} is removed")]
    private partial void LogRemoved(string breach, long load);

    [LoggerMessage(EventIds.RemoveBreachPaused, LogLevel.Information, "{Reason}; tried again in {Pause}")]
    private partial void LogPaused(string reason, TimeSpan pause);
}
