namespace HibpIngest.Pipeline.Upsert;

// Event ids 1100-1199; a contract.
public sealed partial class UpsertSlice
{
    [LoggerMessage(EventIds.UpsertSliceUpserted, LogLevel.Debug, "load {Load} slice {Slice}: {Entities} entities upserted")]
    private partial void LogUpserted(long load, int slice, int entities);

    [LoggerMessage(
        EventIds.UpsertSliceGone, LogLevel.Information, "load {Load} slice {Slice}: gone (purged or removed), message acknowledged")]
    private partial void LogGone(long load, int slice);

    [LoggerMessage(EventIds.UpsertSliceFailed, LogLevel.Error, "load {Load} slice {Slice}: attempt {Attempt} failed: {Reason}")]
    private partial void LogFailed(long load, int slice, int attempt, string reason);

    [LoggerMessage(
        EventIds.UpsertSliceGaveUp, LogLevel.Error,
        "load {Load} slice {Slice}: attempts used up; fix the cause, then run: hibp requeue {Breach} --slice {Slice}")]
    private partial void LogGaveUp(long load, int slice, string breach);

    [LoggerMessage(
        EventIds.UpsertSliceHeld, LogLevel.Information,
        "load {Load} slice {Slice}: lease held by another worker; redelivering after it expires")]
    private partial void LogHeld(long load, int slice);

    [LoggerMessage(
        EventIds.UpsertSliceAgain, LogLevel.Information,
        "load {Load} slice {Slice}: layouts changed during the upsert; upserting again with layouts version {Layouts}")]
    private partial void LogAgain(long load, int slice, int layouts);

    [LoggerMessage(
        EventIds.UpsertSliceLost, LogLevel.Warning,
        "load {Load} slice {Slice}: lease lost to another worker, or load stopped; message acknowledged")]
    private partial void LogLost(long load, int slice);
}
