using HibpIngest.Accounts;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Ports;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Upserts the accounts of one slice into the table. Its key is (load, slice): a second delivery, late or beside the first, writes the same entities again, or finds the
/// slice done and does nothing.
/// </summary>
public sealed partial class UpsertSlice(PipelineContext context)
{
    private readonly ILogger _log = context.Logs.CreateLogger<UpsertSlice>();

    public async Task RunAsync(SliceMessage message, CancellationToken cancellationToken)
    {
        // A message that was put off because a store was down may not have been able to give its try back.
        var maxTries = context.Options.MaxTries + message.Deferrals;
        if (await context.Database.BeginSliceAsync(message.Load, message.Slice, maxTries, cancellationToken) is not { } work)
        {
            LogGone(message.Load, message.Slice);
            return;
        }
        var slice = work.Slice;
        var span = HibpTelemetry.Span?.SetTag(TelemetryNames.Tags.Breach, work.Breach).SetTag(TelemetryNames.Tags.Slice, slice.Number);
        if (slice.State == SliceState.Done)
        {
            // The delivery that did it may have died before it looked whether it was the last.
            await context.CompleteUpsertAsync(slice.Load, cancellationToken);
            return;
        }
        span?.SetTag(TelemetryNames.Tags.Attempt, slice.Attempts).SetTag(TelemetryNames.Tags.Accounts, slice.Count);
        if (slice.State != SliceState.Failed && slice.Attempts > maxTries)
        {
            // Its tries ended without a word each time: the process died. A failed one that comes again was requeued by hand, and is tried.
            const string Reason = "its tries ended without an answer: did the process run out of memory?";
            await context.Database.FailSliceAsync(slice.Load, slice.Number, Reason, exhausted: true, cancellationToken);
            HibpTelemetry.Failed(Reason);
            LogFailed(slice.Load, slice.Number, slice.Attempts, Reason);
            await GaveUpAsync(work);
            return;
        }
        try
        {
            var began = context.Time.GetTimestamp();
            var entities = await UpsertAsync(work, cancellationToken);
            if (slice.State == SliceState.Failed)
                await context.Register.MarkOpenAsync(slice.Load, CancellationToken.None); // completing it may open its load again
            await context.Database.CompleteSliceAsync(slice.Load, slice.Number, entities, CancellationToken.None);
            HibpTelemetry.SliceUpserted(entities, context.Time.GetElapsedTime(began));
            span?.SetTag(TelemetryNames.Tags.Entities, entities);
            LogUpserted(slice.Load, slice.Number, entities);
        }
        catch (Exception e) when (e is StoreUnavailableException or OperationCanceledException)
        {
            await context.Database.ReturnSliceTryAsync(slice.Load, slice.Number, UnexpectedError.Reason(e), CancellationToken.None);
            throw;
        }
        catch (Exception e)
        {
            // Messages of our own hold no address; of others' only the type is kept.
            var reason = UnexpectedError.Reason(e);
            var exhausted = slice.Attempts >= maxTries;
            await context.Database.FailSliceAsync(slice.Load, slice.Number, reason, exhausted, CancellationToken.None);
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
        return context.TellLoadAsync(work.Slice.Load);
    }

    private async Task<int> UpsertAsync(SliceWork work, CancellationToken cancellationToken)
    {
        var slice = work.Slice;
        var rows = SliceBuffers.Rent(slice.Count);
        try
        {
            await context.Database.ReadRowsAsync(slice.Load, slice.First, slice.Last, rows.Accounts, cancellationToken);
            if (rows.Accounts.Count != slice.Count)
                throw new RowsMissingException(slice, rows.Accounts.Count);
            var transactions = rows.GroupByDomain();
            var inFlight = new ParallelOptions { MaxDegreeOfParallelism = context.Options.TransactionsInFlight, CancellationToken = cancellationToken };
            await Parallel.ForAsync(0, transactions, inFlight, async (i, token) =>
            {
                var (domain, aliases) = rows.Transaction(i);
                await context.Table.UpsertAsync(domain, aliases, rows.Accounts.Memory, work.Mark, token);
            });
            return rows.Entities;
        }
        finally
        {
            SliceBuffers.Return(rows);
        }
    }
}
