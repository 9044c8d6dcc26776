namespace HibpIngest.Pipeline.Ingest;

internal static partial class IngestLog
{
    [LoggerMessage(EventIds.IngestBreachCopied, LogLevel.Information,
        "load {Load} of {Breach}: copied {Accounts} accounts, {Rejected} candidates rejected, {Duplicates} duplicates")]
    public static partial void Copied(ILogger log, long load, string breach, long accounts, long rejected, long duplicates);

    [LoggerMessage(
        EventIds.IngestBreachHandedOn, LogLevel.Information, "load {Load} of {Breach}: ingest time budget used up, continued by a message")]
    public static partial void HandedOn(ILogger log, long load, string breach);

    [LoggerMessage(EventIds.IngestBreachLeaseHeld, LogLevel.Information, "load {Load}: lease held by another worker")]
    public static partial void LeaseHeld(ILogger log, long load);

    [LoggerMessage(EventIds.IngestBreachLost, LogLevel.Warning, "load {Load}: ingest stopped: {Reason}")]
    public static partial void Lost(ILogger log, long load, string reason);

    [LoggerMessage(EventIds.IngestBreachFailed, LogLevel.Error, "load {Load} of {Breach}: ingest failed: {Reason}")]
    public static partial void Failed(ILogger log, long load, string breach, string reason);

    [LoggerMessage(
        EventIds.IngestBreachUnexpected, LogLevel.Critical, "load {Load} of {Breach}: ingest failed because of a defect: {Error}")]
    public static partial void Unexpected(ILogger log, long load, string breach, string error);

    [LoggerMessage(EventIds.IngestBreachBegun, LogLevel.Information, "load {Load} of {Breach}: ingest started at position {Position}")]
    public static partial void Started(ILogger log, long load, string breach, long position);

    [LoggerMessage(
        EventIds.IngestBreachUnknownMetadata, LogLevel.Warning,
        "load {Load} of {Breach}: {Count} unknown metadata properties (nearest known: {Nearest})")]
    public static partial void UnknownMetadata(ILogger log, long load, string breach, int count, string nearest);

    [LoggerMessage(
        EventIds.IngestBreachNotItsTurn, LogLevel.Information,
        "ingest: message deferred for {Delay} (another ingest is running in this process)")]
    public static partial void SlotBusy(ILogger log, TimeSpan delay);
}
