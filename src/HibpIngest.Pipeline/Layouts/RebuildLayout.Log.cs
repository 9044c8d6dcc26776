namespace HibpIngest.Pipeline.Layouts;

// Event ids 2200-2299; a contract.
public sealed partial class RebuildLayout
{
    [LoggerMessage(
        EventIds.RebuildBegun, LogLevel.Information,
        "layout {Layout}: rebuild started ({Loads} loads, {Rows} rows, {Done} of their partitions done)")]
    private partial void LogBegun(int layout, int loads, long rows, int done);

    [LoggerMessage(EventIds.RebuildRemoved, LogLevel.Information, "mark {Mark}: removed during its replay, taken off the layout")]
    private partial void LogRemoved(int mark);

    [LoggerMessage(
        EventIds.RebuildDone, LogLevel.Information,
        "layout {Layout}: rebuild complete ({Loads} loads, {Rows} rows, {Accounts} accounts written)")]
    private partial void LogDone(int layout, int loads, long rows, long accounts);

    [LoggerMessage(EventIds.RebuildPaused, LogLevel.Information, "rebuild: paused for {Pause}: {Reason}")]
    private partial void LogPaused(string reason, TimeSpan pause);
}
