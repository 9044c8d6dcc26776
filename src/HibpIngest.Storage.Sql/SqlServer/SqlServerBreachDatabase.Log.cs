using Microsoft.Extensions.Logging;

namespace HibpIngest.Storage.Sql.SqlServer;

public sealed partial class SqlServerBreachDatabase
{
    [LoggerMessage(
        EventIds.SqlServerBreachDatabaseCopiedInPieces, LogLevel.Warning,
        "load {Load}: copy of {Rows} rows timed out; copying this batch and later ones in pieces of {Smaller} rows")]
    private partial void LogCopiedInPieces(long load, int rows, int smaller);

    [LoggerMessage(
        EventIds.SqlServerBreachDatabaseWasCommitted, LogLevel.Information,
        "load {Load}: batch up to position {Position} was committed although the response was lost")]
    private partial void LogWasCommitted(long load, long position);

    [LoggerMessage(EventIds.SqlServerBreachDatabaseTriedAgain, LogLevel.Warning, "database: retrying in {Delay}: {Reason}")]
    private partial void LogTriedAgain(string reason, TimeSpan delay);
}
