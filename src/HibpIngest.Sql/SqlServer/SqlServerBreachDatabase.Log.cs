using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Sql.SqlServer;

public sealed partial class SqlServerBreachDatabase
{
    [LoggerMessage(
        EventIds.SqlServerBreachDatabaseCopiedInPieces, LogLevel.Warning,
        "load {Load}: a copy of {Rows} rows ran out of time; its batch is copied again in pieces of {Smaller} rows, "
        + "and so are those after it")]
    private partial void LogCopiedInPieces(long load, int rows, int smaller);

    [LoggerMessage(
        EventIds.SqlServerBreachDatabaseWasCommitted, LogLevel.Information,
        "load {Load}: the batch up to {Position} had been committed, though the answer was lost")]
    private partial void LogWasCommitted(long load, long position);

    [LoggerMessage(EventIds.SqlServerBreachDatabaseTriedAgain, LogLevel.Warning, "{Reason}; tried again in {Delay}")]
    private partial void LogTriedAgain(string reason, TimeSpan delay);
}
