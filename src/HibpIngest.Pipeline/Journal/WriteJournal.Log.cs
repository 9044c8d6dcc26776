namespace HibpIngest.Pipeline.Journal;

public sealed partial class WriteJournal
{
    [LoggerMessage(
        EventIds.LogLoadSegment, LogLevel.Information,
        "load {Load}: segment {Segment} of {Segments} written to the account log ({Bytes} bytes)")]
    private partial void JournalSegment(long load, int segment, int segments, long bytes);

    [LoggerMessage(
        EventIds.LogLoadLogged, LogLevel.Information,
        "load {Load} of {Breach}: written to the account log ({Segments} segments, {Rows} rows)")]
    private partial void LogLogged(long load, string breach, int segments, long rows);

    [LoggerMessage(
        EventIds.LogLoadHandedOn, LogLevel.Information, "load {Load} of {Breach}: writing to the account log continued by a message")]
    private partial void LogHandedOn(long load, string breach);

    [LoggerMessage(EventIds.LogLoadFailed, LogLevel.Error, "load {Load} of {Breach}: writing to the account log failed: {Reason}")]
    private partial void LogFailed(long load, string breach, string reason);
}
