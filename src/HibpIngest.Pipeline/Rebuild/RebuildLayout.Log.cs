using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

// Event ids 2200-2299; a contract.
public sealed partial class RebuildLayout
{
    [LoggerMessage(
        EventIds.RebuildBegun, LogLevel.Information,
        "layout {Layout}: replaying {Loads} loads of {Rows} rows; {Done} partitions of them are done")]
    private partial void LogBegun(int layout, int loads, long rows, int done);

    [LoggerMessage(
        EventIds.RebuildRemoved, LogLevel.Information, "mark {Mark} was removed while it was replayed: taken off again")]
    private partial void LogRemoved(int mark);

    [LoggerMessage(
        EventIds.RebuildDone, LogLevel.Information,
        "layout {Layout} lacks nothing: {Loads} loads of {Rows} rows were replayed, {Accounts} accounts written")]
    private partial void LogDone(int layout, int loads, long rows, long accounts);

    [LoggerMessage(EventIds.RebuildPaused, LogLevel.Information, "{Reason}; tried again in {Pause}")]
    private partial void LogPaused(string reason, TimeSpan pause);
}
