using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

// Event ids 2000-2099; a contract.
public sealed partial class FillRanges
{
    [LoggerMessage(EventIds.FillRangesBegun, LogLevel.Information, "filling ranges of layout {Layout}: {Done} of {Parts} parts of the "
        + "account table are done")]
    private partial void LogBegun(int layout, int done, int parts);

    [LoggerMessage(EventIds.FillRangesRemoved, LogLevel.Information, "mark {Mark} was removed while ranges were filled: taken off them")]
    private partial void LogRemoved(int mark);

    [LoggerMessage(EventIds.FillRangesOn, LogLevel.Information, "ranges of layout {Layout} are on: {Accounts} accounts were written")]
    private partial void LogOn(int layout, long accounts);

    [LoggerMessage(EventIds.FillRangesPaused, LogLevel.Information, "{Reason}; tried again in {Pause}")]
    private partial void LogPaused(string reason, TimeSpan pause);
}
