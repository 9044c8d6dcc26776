using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Pipeline.Ingest;

/// <summary>Copies a load's archive into SQL from its checkpoint on, under its lease. A batch's slices are sent after it commits.</summary>
public sealed class LoadCopy(
    ILoads loads, IIngests ingests, ILoadRows rows, IStoreIds ids, IBreachBlobs blobs, ArchivePasswords passwords, LoadLeases leases,
    UpsertCompletion upsert, PipelineMessages messages, IOptions<IngestOptions> options, TimeProvider time, ILogger<IngestBreach> log)
{
    /// <summary>Runs until the load is copied or, after a commit, the time is used up; then sends its continuation.</summary>
    public async Task RunAsync(LoadLease lease, CancellationToken cancellationToken)
    {
        var load = lease.Load;
        // Read for its errors, which are better reported now than hours later. The document is applied when the load is published.
        await MetadataFile.ReadAsync(blobs, load.Blob.Name, load.Breach, cancellationToken);
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
                + $"with 'hibp load resume {load.Id}' on a plan that lets it run longer or under 'hibp run', or drop the archive's entries "
                + "as several smaller archives");
        }
    }

    /// <summary>Copies the batches. Returns false if the time budget, or the plan's limit after a commit, ended it.</summary>
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
                    ?.SetTag(TelemetryNames.Tags.Load, load.Id).SetTag(TelemetryNames.Tags.Breach, load.Breach)
                    .SetTag(TelemetryNames.Tags.Batch, ++number)
                    .SetTag(TelemetryNames.Tags.Accounts, batch.Accounts.Count).SetTag(TelemetryNames.Tags.Bytes, batch.Accounts.Bytes);
                // A transaction that has begun is finished: cancellation takes effect between batches.
                var began = time.GetTimestamp();
                var slices = await copy.CommitAsync(batch.Accounts, batch.Checkpoint, batch.DuplicatesPossible, CancellationToken.None);
                var duration = time.GetElapsedTime(began);
                HibpTelemetry.BatchCopied(batch.Accounts.Count, batch.Accounts.Bytes, duration);
                // The span measures the transaction, but stays the current one, so that the slices' messages refer to it.
                span?.SetTag(TelemetryNames.Tags.Slices, slices.Count).SetEndTime(span.StartTimeUtc + duration);
                extraction.Return(batch);
                await sending;
                // Confirmed before anything writes the mark into the table: a database that loses the id to a backup is then refused.
                if (firstCommit == 0)
                {
                    firstCommit = time.GetTimestamp();
                    await ids.ConfirmAsync(new StoreIds(load.Id, load.Mark), CancellationToken.None);
                }
                sending = messages.SendSlicesAsync(slices, CancellationToken.None);
                lease.Token.ThrowIfCancellationRequested();
                span?.Stop(); // the continuation's parent is this run, not its last batch
                if (limit.IsCancellationRequested
                    || (options.Value.TimeBudget > TimeSpan.Zero && time.GetElapsedTime(firstCommit) >= options.Value.TimeBudget))
                    return await HandOnAsync(lease, sending);
            }
        }
        catch (OperationCanceledException)
        {
            // Slices of committed batches are sent even if the run is aborted.
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

    // Rebuilds the dedupe set as of the checkpoint's entry. Rows up to the cap are distinct, so these are the first rows.
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
