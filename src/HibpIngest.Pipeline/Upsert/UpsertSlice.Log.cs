using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

// Event ids 1100-1199; a contract.
public sealed partial class UpsertSlice
{
    [LoggerMessage(EventIds.UpsertSliceUpserted, LogLevel.Debug, "load {Load} slice {Slice}: {Entities} entities upserted")]
    private partial void LogUpserted(long load, int slice, int entities);

    [LoggerMessage(
        EventIds.UpsertSliceGone, LogLevel.Information, "load {Load} slice {Slice}: gone (purged or removed), message acknowledged")]
    private partial void LogGone(long load, int slice);

    [LoggerMessage(EventIds.UpsertSliceFailed, LogLevel.Error, "load {Load} slice {Slice}: try {Attempt} failed: {Reason}")]
    private partial void LogFailed(long load, int slice, int attempt, string reason);

    [LoggerMessage(EventIds.UpsertSliceGaveUp, LogLevel.Error, "load {Load} slice {Slice} has used up its tries; once the reason is "
        + "mended: hibp requeue {Breach} --slice {Slice}")]
    private partial void LogGaveUp(long load, int slice, string breach);

    [LoggerMessage(EventIds.UpsertSliceHeld, LogLevel.Information, "load {Load} slice {Slice}: somebody is at work on it; its message "
        + "comes again when that one's lease has ended")]
    private partial void LogHeld(long load, int slice);

    [LoggerMessage(EventIds.UpsertSliceAgain, LogLevel.Information, "load {Load} slice {Slice}: the set of layouts has changed under it, "
        + "and it is written again in version {Layouts}")]
    private partial void LogAgain(long load, int slice, int layouts);

    [LoggerMessage(EventIds.UpsertSliceLost, LogLevel.Warning, "load {Load} slice {Slice}: somebody else has it by now, or its load was "
        + "stopped; message acknowledged")]
    private partial void LogLost(long load, int slice);
}
