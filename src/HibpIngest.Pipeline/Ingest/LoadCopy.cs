namespace HibpIngest.Pipeline.Ingest;

/// <summary>Copies a load's archive into SQL from its checkpoint on, under its lease. A batch's slices are sent after it commits.</summary>
public sealed class LoadCopy(
    ILoads loads, LoadArchive archives, LoadLeases leases, StartSlices starts, IOptions<IngestOptions> options,
    TimeProvider time, ILogger<IngestBreach> log)
{
    /// <summary>Runs until the load is copied or, after a commit, the time is used up; then sends its continuation.</summary>
    public async Task RunAsync(LoadLease lease, CancellationToken cancellationToken)
    {
        var load = lease.Load;
        if (!lease.IsNew)
            await archives.CheckMetadataAsync(load, cancellationToken);
        load = await starts.WithMarkAsync(load, cancellationToken);

        using var limit = new CancellationTokenSource(
            options.Value.PlanLimit > TimeSpan.Zero ? options.Value.PlanLimit : Timeout.InfiniteTimeSpan, time);
        using var leaseAndLimit = CancellationTokenSource.CreateLinkedTokenSource(lease.Token, limit.Token);
        try
        {
            await using var extraction = await archives.ExtractAsync(load, leaseAndLimit.Token);
            if (await CopyAsync(load, lease, extraction, leaseAndLimit.Token, limit.Token) is { } copied)
                await FinishAsync(load, lease.Owner, copied, extraction.Checkpoint());
        }
        catch (OperationCanceledException) when (limit.IsCancellationRequested && !lease.Token.IsCancellationRequested)
        {
            throw new BadInputException("reading up to the first account that is not copied yet takes longer than the "
                + $"{options.Value.PlanLimit} that one invocation may run here (HIBP_PLANLIMIT, below the plan's limit): resume the load "
                + $"with 'hibp load resume {load.Id}' on a plan that lets it run longer or under 'hibp run', or drop the archive's entries "
                + "as several smaller archives");
        }
    }

    /// <returns>The load's number of accounts; null if the time budget, or the plan's limit after a commit, ended it.</returns>
    private async Task<long?> CopyAsync(
        Load load, LoadLease lease, AccountExtractor extraction, CancellationToken reading, CancellationToken limit)
    {
        var firstCommit = 0L;
        var (number, copied) = (load.Batches, load.LastPosition);
        var sending = Task.CompletedTask;
        var order = new BatchCopyOrder(load.Id, lease.Owner, load.Mark, load.Settings.SliceRows, options.Value.LoadLease);
        await using var copy = await loads.OpenCopyAsync(order, reading);
        try
        {
            await foreach (var batch in extraction.Batches.ReadAllAsync(reading))
            {
                using var span = HibpTelemetry.Source.StartActivity(TelemetryNames.Spans.Batch)
                    ?.SetTag(TelemetryNames.Tags.Load, load.Id.Value).SetTag(TelemetryNames.Tags.Breach, load.Breach)
                    .SetTag(TelemetryNames.Tags.Batch, ++number)
                    .SetTag(TelemetryNames.Tags.Accounts, batch.Accounts.Count).SetTag(TelemetryNames.Tags.Bytes, batch.Accounts.Bytes);
                // A transaction that has begun is finished: cancellation takes effect between batches.
                var began = time.GetTimestamp();
                var slices = await copy.CommitAsync(batch.Accounts, batch.Checkpoint, batch.DuplicatesPossible, CancellationToken.None);
                var duration = time.GetElapsedTime(began);
                copied = batch.Accounts.LastPosition;
                HibpTelemetry.BatchCopied(batch.Accounts.Count, batch.Accounts.Bytes, duration);
                // The span measures the transaction, but stays the current one, so that the slices' messages refer to it.
                span?.SetTag(TelemetryNames.Tags.Slices, slices.Count).SetEndTime(span.StartTimeUtc + duration);
                extraction.Return(batch);
                await sending;
                // Confirmed before anything writes the mark into the table: a database that loses the id to a backup is then refused.
                if (firstCommit == 0)
                {
                    firstCommit = time.GetTimestamp();
                    await starts.ConfirmAsync(load);
                }
                sending = starts.SendAsync(slices);
                lease.Token.ThrowIfCancellationRequested();
                span?.Stop(); // the continuation's parent is this run, not its last batch
                if (limit.IsCancellationRequested
                    || (options.Value.TimeBudget > TimeSpan.Zero && time.GetElapsedTime(firstCommit) >= options.Value.TimeBudget))
                {
                    await HandOnAsync(lease, sending);
                    return null;
                }
            }
        }
        catch (OperationCanceledException)
        {
            // Slices of committed batches are sent even if the run is aborted.
            await sending;
            if (firstCommit == 0 || !limit.IsCancellationRequested || lease.Token.IsCancellationRequested)
                throw;
            await HandOnAsync(lease, sending);
            return null;
        }
        await sending;
        return copied;
    }

    private async Task HandOnAsync(LoadLease lease, Task sending)
    {
        await sending;
        await leases.HandOnAsync(lease, new IngestMessage { Load = lease.Load.Id.Value });
        IngestLog.HandedOn(log, lease.Load.Id.Value, lease.Load.Breach);
    }

    private async Task FinishAsync(Load load, string owner, long copied, LoadCheckpoint checkpoint)
    {
        if (copied == 0)
            throw new BadInputException(
                $"no account in it ({checkpoint.Rejected.Total} candidates broke a rule); expected text that holds email addresses");
        await loads.FinishIngestAsync(load.Id, owner, checkpoint, CancellationToken.None);
        await archives.ForgetPasswordAsync(load);
        await starts.CompleteAsync(load);
        IngestLog.Copied(log, load.Id.Value, load.Breach, copied, checkpoint.Rejected.Total, checkpoint.Rejected.Duplicates);
    }
}
