using HibpIngest.Accounts;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using HibpIngest.Telemetry;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Copies a load's archive into SQL from its checkpoint on, under its lease, batch by batch: a batch's slices are sent
/// once it has committed.
/// </summary>
public sealed class LoadCopy(
    ILoads loads, IIngests ingests, IRows rows, IStoreIds ids, IBreachBlobs blobs, ArchivePasswords passwords, LoadLeases leases,
    UpsertCompletion upsert, PipelineMessages messages, IOptions<IngestOptions> options, TimeProvider time, ILogger<IngestBreach> log)
{
    /// <summary>
    /// Runs until the load is copied, or its time budget, or the plan's limit after a commit, has ended (it then sends
    /// its own continuation).
    /// </summary>
    /// <exception cref="BadInputException">The archive can't be ingested, or not within the plan's limit.</exception>
    public async Task RunAsync(LoadLease lease, CancellationToken cancellationToken)
    {
        var load = lease.Load;
        // For its errors, which are better told now than hours later; it counts when the load is published.
        await BreachDocument.ReadAsync(blobs, load.Blob.Name, load.Breach, cancellationToken);
        var password = await passwords.GetAsync(load.Blob, cancellationToken);
        if (load.Mark == 0)
            load = load with { Mark = await ids.DrawMarkAsync(cancellationToken) };

        using var limit = new CancellationTokenSource(
            options.Value.PlanLimit > TimeSpan.Zero ? options.Value.PlanLimit : Timeout.InfiniteTimeSpan, time);
        using var leaseAndLimit = CancellationTokenSource.CreateLinkedTokenSource(lease.Token, limit.Token);
        try
        {
            var known = await RememberAsync(load, leaseAndLimit.Token);
            await using var extraction = new AccountExtractor(await blobs.OpenAsync(load.Blob, leaseAndLimit.Token), password, load, known);
            extraction.Start();
            if (await CopyAsync(load, lease, extraction, leaseAndLimit.Token, limit.Token))
                await FinishAsync(load, lease.Owner, extraction.Checkpoint(), cancellationToken);
        }
        catch (OperationCanceledException) when (limit.IsCancellationRequested && !lease.Token.IsCancellationRequested)
        {
            throw new BadInputException("reading up to the first account that is not copied yet takes longer than the "
                + $"{options.Value.PlanLimit} that one invocation may run here (HIBP_PLANLIMIT, kept below the plan's limit): resume it "
                + $"with 'hibp resume {load.Id}' on a plan that lets it run longer or under 'hibp run', or drop the archive's entries as "
                + "several smaller archives");
        }
    }

    /// <summary>False when the time budget, or the plan's limit after a commit, ended it.</summary>
    /// <param name="reading">Cancels a wait for the next batch: the limit or the lease.</param>
    private async Task<bool> CopyAsync(
        Load load, LoadLease lease, AccountExtractor extraction, CancellationToken reading, CancellationToken limit)
    {
        var firstCommit = 0L;
        var number = load.Batches;
        var sending = Task.CompletedTask;
        var order = new BatchCopyOrder(load.Id, lease.Owner, load.Mark, load.Settings.SliceRows, options.Value.LoadLease);
        await using var copy = await ingests.OpenCopyAsync(order, reading);
        try
        {
            await foreach (var batch in extraction.Batches.ReadAllAsync(reading))
            {
                using var span = HibpTelemetry.Source.StartActivity(TelemetryNames.Spans.Batch)
                    ?.SetTag(TelemetryNames.Tags.Load, load.Id).SetTag(TelemetryNames.Tags.Breach, load.Breach).SetTag(
                        TelemetryNames.Tags.Batch, ++number)
                    .SetTag(TelemetryNames.Tags.Accounts, batch.Accounts.Count).SetTag(TelemetryNames.Tags.Bytes, batch.Accounts.Bytes);
                // A transaction that has begun is finished: cancellation acts between batches.
                var began = time.GetTimestamp();
                var slices = await copy.CommitAsync(batch.Accounts, batch.Checkpoint, batch.DuplicatesPossible, CancellationToken.None);
                var duration = time.GetElapsedTime(began);
                HibpTelemetry.BatchCopied(batch.Accounts.Count, batch.Accounts.Bytes, duration);
                // The transaction is what the span measures; it stays the current one, so that its slices' messages name it.
                span?.SetTag(TelemetryNames.Tags.Slices, slices.Count).SetEndTime(span.StartTimeUtc + duration);
                extraction.Return(batch);
                await sending;
                // Before anything writes the mark into the table: a database that lost it again, to a backup, is then refused.
                if (firstCommit == 0)
                {
                    firstCommit = time.GetTimestamp();
                    await ids.ConfirmAsync(new StoreIds(load.Id, load.Mark), CancellationToken.None);
                }
                sending = messages.SendSlicesAsync(slices, CancellationToken.None);
                lease.Token.ThrowIfCancellationRequested();
                span?.Stop(); // a continuation hangs on this run, not on its last batch
                if (limit.IsCancellationRequested
                    || (options.Value.TimeBudget > TimeSpan.Zero && time.GetElapsedTime(firstCommit) >= options.Value.TimeBudget))
                    return await HandOnAsync(lease, sending);
            }
        }
        catch (OperationCanceledException)
        {
            // What has committed is announced, whatever ends it.
            await sending;
            if (firstCommit == 0 || !limit.IsCancellationRequested || lease.Token.IsCancellationRequested)
                throw;
            return await HandOnAsync(lease, sending);
        }
        await sending;
        return true;
    }

    private async Task<bool> HandOnAsync(LoadLease lease, Task sending)
    {
        await sending;
        await leases.HandOnAsync(lease, new IngestMessage { Load = lease.Load.Id });
        IngestLog.HandedOn(log, lease.Load.Id, lease.Load.Breach);
        return false;
    }

    private async Task FinishAsync(Load load, string owner, LoadCheckpoint checkpoint, CancellationToken cancellationToken)
    {
        var copied = (await loads.GetLoadAsync(load.Id, cancellationToken))?.LastPosition ?? 0;
        if (copied == 0)
            throw new BadInputException(
                $"no account in it ({checkpoint.Rejected.Total} candidates broke a rule); expected text that holds email addresses");
        await ingests.FinishIngestAsync(load.Id, owner, checkpoint, CancellationToken.None);
        await passwords.DeleteAsync(load.Blob, CancellationToken.None);
        await upsert.TryAsync(load.Id, CancellationToken.None);
        IngestLog.Copied(log, load.Id, load.Breach, copied, checkpoint.Rejected.Total, checkpoint.Rejected.Duplicates);
    }

    /// <summary>
    /// The dedupe set as it stood when the checkpoint's entry was opened. Up to the cap all rows are distinct,
    /// so it is the first rows.
    /// </summary>
    private async Task<DedupeSet> RememberAsync(Load load, CancellationToken cancellationToken)
    {
        var known = new DedupeSet(load.Settings.DedupeCap);
        var batch = new AccountBatch(load.Settings.BatchRows);
        var isNew = new bool[batch.Capacity];
        var last = Math.Min(load.Checkpoint.EntryFirstPosition - 1, load.Settings.DedupeCap);
        for (var first = 1L; first <= last; first += batch.Capacity)
        {
            await rows.ReadRowsAsync(load.Id, first, Math.Min(first + batch.Capacity - 1, last), batch, cancellationToken);
            known.Add(batch, isNew);
        }
        return known;
    }
}
