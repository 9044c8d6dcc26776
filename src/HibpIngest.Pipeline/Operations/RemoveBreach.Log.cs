using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

// Event ids 1800-1899; a contract.
public sealed partial class RemoveBreach
{
    [LoggerMessage(1800, LogLevel.Information, "removing {Loads} loads of {Breach}: no reader sees them from now on")]
    private partial void LogBegun(string breach, int loads);

    [LoggerMessage(1801, LogLevel.Information, "removing {Breach}: a slice is still under way")]
    private partial void LogWaiting(string breach);

    [LoggerMessage(1802, LogLevel.Warning, "mark {Mark} stays on the accounts: another load has it too")]
    private partial void LogMarkStays(int mark);

    [LoggerMessage(1803, LogLevel.Information, "load {Load} of {Breach} is removed")]
    private partial void LogRemoved(string breach, long load);

    [LoggerMessage(1804, LogLevel.Information, "{Reason}; tried again in {Pause}")]
    private partial void LogPaused(string reason, TimeSpan pause);
}
