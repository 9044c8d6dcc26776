using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Upserts the accounts of one slice into the table. Its key is (load, slice): a second delivery beside the
/// first comes again when that one's lease has ended; a late one goes on where the first was cut off, or finds
/// the slice done and does nothing.
/// </summary>
public sealed partial class UpsertSlice(PipelineContext context)
{
    private readonly ILogger _log = context.Logs.CreateLogger<UpsertSlice>();

    public async Task RunAsync(SliceMessage message, CancellationToken cancellationToken)
    {
        // A message that was put off because a store was down may not have been able to give its try back.
        var maxTries = context.Options.MaxTries + message.Deferrals;
        var owner = context.NewOwner();
        if (await context.Database.BeginSliceAsync(message.Load, message.Slice, owner, context.Options.SliceLease, maxTries, cancellationToken) is not { } work)
        {
            LogGone(message.Load, message.Slice);
            return;
        }
        var slice = work.Slice;
        var span = HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Breach, work.Breach).SetTag(TelemetryNames.Tags.Slice, slice.Number);
        if (work.HeldUntil is { } heldUntil)
        {
            // Acknowledged now, it would be missed should its holder die; it finds out when that lease has ended.
            LogHeld(slice.Load, slice.Number);
            await context.SendAfterLeaseAsync(QueueNames.Slices, message, heldUntil, context.Options.SliceLease, cancellationToken);
            return;
        }
        if (slice.State == SliceState.Done)
        {
            // The delivery that did it may have died before it looked whether it was the last.
            await context.CompleteUpsertAsync(slice.Load, cancellationToken);
            return;
        }
        span?.SetTag(TelemetryNames.Tags.Attempt, slice.Attempts).SetTag(TelemetryNames.Tags.Accounts, slice.Count);
        if (slice.State != SliceState.Failed && slice.Attempts > maxTries)
        {
            // Its tries ended without a word each time: the process died. A failed one that comes again was
            // requeued by hand, and is tried.
            const string Reason = "its tries ended without an answer: did the process run out of memory?";
            await context.Database.FailSliceAsync(slice.Load, slice.Number, owner, Reason, exhausted: true, cancellationToken);
            HibpTelemetry.Failed(Reason);
            LogFailed(slice.Load, slice.Number, slice.Attempts, Reason);
            await GaveUpAsync(work);
            return;
        }
        await using var run = new SliceRun(context, work, owner, cancellationToken);
        try
        {
            var began = context.Time.GetTimestamp();
            var entities = await run.UpsertAsync();
            if (slice.State == SliceState.Failed && !run.Lost)
                await context.Register.MarkOpenAsync(slice.Load, CancellationToken.None); // completing it may open its load again
            if (run.Lost || !await context.Database.CompleteSliceAsync(slice.Load, slice.Number, owner, entities, CancellationToken.None))
            {
                // Whoever has it by now goes on with it; of a load that was stopped, nobody.
                LogLost(slice.Load, slice.Number);
                await context.Database.ReturnSliceTryAsync(slice.Load, slice.Number, owner, run.Progress, error: null, CancellationToken.None);
                return;
            }
            HibpTelemetry.SliceUpserted(entities, context.Time.GetElapsedTime(began));
            span?.SetTag(TelemetryNames.Tags.Entities, entities);
            LogUpserted(slice.Load, slice.Number, entities);
        }
        catch (Exception e) when (e is StoreUnavailableException or OperationCanceledException)
        {
            await context.Database.ReturnSliceTryAsync(slice.Load, slice.Number, owner, run.Progress, UnexpectedError.Reason(e), CancellationToken.None);
            throw;
        }
        catch (Exception e)
        {
            // Messages of our own hold no address; of others' only the type is kept.
            var reason = UnexpectedError.Reason(e);
            var exhausted = slice.Attempts >= maxTries;
            await context.Database.FailSliceAsync(slice.Load, slice.Number, owner, reason, exhausted, CancellationToken.None);
            LogFailed(slice.Load, slice.Number, slice.Attempts, reason);
            if (exhausted)
                await GaveUpAsync(work);
            throw;
        }
        await context.CompleteUpsertAsync(slice.Load, CancellationToken.None);
    }

    private Task GaveUpAsync(SliceWork work)
    {
        LogGaveUp(work.Slice.Load, work.Slice.Number, work.Breach);
        return context.ReportLoadAsync(work.Slice.Load);
    }
}
