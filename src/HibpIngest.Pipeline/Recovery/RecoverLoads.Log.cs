using HibpIngest.Pipeline.Journal;

namespace HibpIngest.Pipeline.Recovery;

public sealed partial class RecoverLoads
{
    [LoggerMessage(
        EventIds.RecoverLoadsRecovered, LogLevel.Information, "load {Load} of {Breach}: recovered from the account log ({Rows} rows)")]
    private partial void JournalRecovered(long load, string breach, long rows);

    [LoggerMessage(EventIds.RecoverLoadsRefused, LogLevel.Error, "load {Load} of {Breach}: not recovered from the account log: {Reason}")]
    private partial void LogRefused(long load, string breach, string reason);
}
