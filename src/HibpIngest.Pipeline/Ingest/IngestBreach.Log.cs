using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

// Event ids 1000-1099; a contract.
public sealed partial class IngestBreach
{
    [LoggerMessage(EventIds.IngestBreachCopied, LogLevel.Information, "load {Load} of {Breach}: copied {Accounts} accounts, {Rejected} candidates rejected, {Duplicates} duplicates")]
    private partial void LogCopied(long load, string breach, long accounts, long rejected, long duplicates);

    [LoggerMessage(EventIds.IngestBreachHandedOn, LogLevel.Information, "load {Load} of {Breach}: time budget used up, continued by a message")]
    private partial void LogHandedOn(long load, string breach);

    [LoggerMessage(EventIds.IngestBreachOwnedElsewhere, LogLevel.Information, "load {Load}: another ingester is at it")]
    private partial void LogOwnedElsewhere(long load);

    [LoggerMessage(EventIds.IngestBreachLost, LogLevel.Warning, "load {Load}: stopped, {Reason}")]
    private partial void LogLost(long load, string reason);

    [LoggerMessage(EventIds.IngestBreachFailed, LogLevel.Error, "load {Load} of {Breach} failed: {Reason}")]
    private partial void LogFailed(long load, string breach, string reason);

    [LoggerMessage(EventIds.IngestBreachUnexpected, LogLevel.Critical, "load {Load} of {Breach} failed by a defect: {Error}")]
    private partial void LogUnexpected(long load, string breach, string error);

    [LoggerMessage(EventIds.IngestBreachBegun, LogLevel.Information, "load {Load} of {Breach}: ingest begins at position {Position}")]
    private partial void LogBegun(long load, string breach, long position);
}
