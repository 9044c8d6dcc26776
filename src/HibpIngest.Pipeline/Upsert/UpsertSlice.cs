namespace HibpIngest.Pipeline.Upsert;

/// <summary>
/// Upserts the accounts of one slice into the tables of every layout that is written. Idempotency key: (load, slice). A concurrent
/// redelivery is deferred until the first one's lease has ended; a later one resumes where the first was interrupted, or finds the slice
/// done and does nothing.
/// </summary>
public sealed partial class UpsertSlice(
    ISlices slices, SliceRuns runs, IWorkRegister register, UpsertCompletion completion, LoadReports reports, PipelineMessages messages,
    ILogger<UpsertSlice> log)
    : IStage<SliceMessage, SliceRun>
{
    public async Task<SliceRun?> ClaimAsync(SliceMessage message, CancellationToken cancellationToken)
    {
        if (await runs.BeginAsync(message, cancellationToken) is not { Work: var work } claim)
        {
            LogGone(message.Load, message.Slice);
            return null;
        }
        var slice = work.Slice;
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Breach, work.Breach).SetTag(TelemetryNames.Tags.Slice, slice.Number);
        if (work.HeldUntil is { } heldUntil)
        {
            // Not acknowledged without a successor: if the holder dies, the deferred message finds that out after the lease's end.
            LogHeld(slice.Load.Value, slice.Number);
            await messages.SendAfterLeaseAsync(message, heldUntil, runs.Lease, cancellationToken);
            return null;
        }
        if (slice.State == SliceState.Done)
        {
            // The delivery that completed it may have died before it checked whether this was the last slice.
            await completion.TryAsync(slice.Load, cancellationToken);
            return null;
        }
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Attempt, slice.Attempts).SetTag(TelemetryNames.Tags.Accounts, slice.Count);
        return runs.Start(claim, cancellationToken);
    }

    public async Task RunAsync(SliceRun work, CancellationToken cancellationToken)
    {
        var slice = work.Work.Slice;
        var entities = await work.UpsertAsync();
        if (slice.State == SliceState.Failed)
            await register.MarkOpenAsync(slice.Load, CancellationToken.None); // completing it may reopen its load
        while (await slices.CompleteSliceAsync(
            slice.Load, slice.Number, work.Owner, entities, work.Work.Layouts.Version, CancellationToken.None) is { IsDone: false } ended)
        {
            // The new owner continues; a stopped load is not continued.
            if (ended.Layouts is not { } layouts)
                throw new LoadLostException(slice.Load);
            LogAgain(slice.Load.Value, slice.Number, layouts.Version);
            work.StartOver(layouts);
            entities = await work.UpsertAsync();
        }
        work.IsCompleted = true;
        HibpTelemetry.SliceUpserted(entities, work.Elapsed);
        HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Entities, entities);
        LogUpserted(slice.Load.Value, slice.Number, entities);
        await completion.TryAsync(slice.Load, CancellationToken.None);
    }

    public async Task ReleaseAsync(SliceRun work, Exception cause)
    {
        var (slice, lost) = (work.Work.Slice, cause is LoadLostException);
        if (lost)
            LogLost(slice.Load.Value, slice.Number);
        var error = lost ? null : UnexpectedError.Reason(cause);
        await slices.RefundSliceAttemptAsync(slice.Load, slice.Number, work.Owner, work.Progress, error, CancellationToken.None);
    }

    // Our own errors' messages contain no address; of other errors only the type is recorded.
    public async Task<bool> FailAsync(SliceRun work, Exception error)
    {
        if (work.IsCompleted)
            return true; // the failure came after completion, and the redelivery repeats those steps
        var (slice, reason) = (work.Work.Slice, UnexpectedError.Reason(error));
        var exhausted = error is RetriesExhaustedException || slice.Attempts >= work.MaxTries;
        await slices.FailSliceAsync(slice.Load, slice.Number, work.Owner, reason, exhausted, CancellationToken.None);
        LogFailed(slice.Load.Value, slice.Number, slice.Attempts, reason);
        if (exhausted)
        {
            LogGaveUp(slice.Load.Value, slice.Number, work.Breach);
            await reports.ReportAsync(slice.Load);
        }
        return true;
    }

    public string DescribeExhaustedRetries(SliceRun work) => "its attempts ended without a result: did the process run out of memory?";

    [LoggerMessage(EventIds.UpsertSliceUpserted, LogLevel.Debug, "load {Load} slice {Slice}: {Entities} entities upserted")]
    private partial void LogUpserted(long load, int slice, int entities);

    [LoggerMessage(
        EventIds.UpsertSliceGone, LogLevel.Information,
        "load {Load} slice {Slice}: no longer exists (purged or removed); message acknowledged")]
    private partial void LogGone(long load, int slice);

    [LoggerMessage(EventIds.UpsertSliceFailed, LogLevel.Error, "load {Load} slice {Slice}: attempt {Attempt} failed: {Reason}")]
    private partial void LogFailed(long load, int slice, int attempt, string reason);

    [LoggerMessage(
        EventIds.UpsertSliceGaveUp, LogLevel.Error,
        "load {Load} slice {Slice}: attempts used up; fix the cause, then run: hibp load requeue {Breach} --slice {Slice}")]
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
