namespace HibpIngest.Pipeline.Layouts;

// Event ids 2000-2099; a contract.
public sealed partial class FillRanges
{
    [LoggerMessage(
        EventIds.FillRangesBegun, LogLevel.Information,
        "ranges of layout {Layout}: backfill started ({Done} of {Parts} parts of the account table done)")]
    private partial void LogBegun(int layout, int done, int parts);

    [LoggerMessage(
        EventIds.FillRangesRemoved, LogLevel.Information, "mark {Mark}: removed during the backfill of ranges, taken off the ranges")]
    private partial void LogRemoved(int mark);

    [LoggerMessage(
        EventIds.FillRangesOn, LogLevel.Information,
        "ranges of layout {Layout}: backfill complete, ranges on ({Accounts} accounts written)")]
    private partial void LogOn(int layout, long accounts);

    [LoggerMessage(EventIds.FillRangesPaused, LogLevel.Information, "ranges: backfill paused for {Pause}: {Reason}")]
    private partial void LogPaused(string reason, TimeSpan pause);
}
