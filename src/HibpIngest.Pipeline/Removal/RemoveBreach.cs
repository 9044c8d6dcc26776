namespace HibpIngest.Pipeline.Removal;

/// <summary>
/// Removes a breach and the loads that it has at the start of the run. The journal and the register record the removal before the database
/// does, so that it is completed even after the database is restored to an earlier state. The first transaction unlists the loads; once the
/// catalogue is published after that, no reader sees them, and the rest is housekeeping. Idempotency key: the loads of the first run;
/// another run, even a concurrent one, continues with those. A load that is created later has its own mark and isn't touched.
/// </summary>
public sealed partial class RemoveBreach(
    IBreachDatabase database, PublishCatalogue publisher, RecordRemoval record, RemoveMarks removeMarks, ICallbackBlobs callbacks,
    TimeProvider time, ILogger<RemoveBreach> logger)
{
    // A slice's lease is 60 s and isn't renewed once its load is being removed; doubled for clock differences and a slow renewal.
    private static readonly TimeSpan MaxWait = TimeSpan.FromMinutes(2);
    private static readonly TimeSpan PollInterval = TimeSpan.FromSeconds(1);

    /// <exception cref="NotPossibleException">There is no such breach, one of its loads is open, or a running slice doesn't end in
    /// time.</exception>
    /// <exception cref="CatalogueBehindException">Readers still see the breach; run the removal again.</exception>
    public async Task<BreachRemoval> RunAsync(string breach, IProgress<RemovalProgress>? progress, CancellationToken cancellationToken)
    {
        var recorded = await record.RunAsync(breach, cancellationToken);
        var name = recorded.Breach;
        var removed = await UnlistAsync(name, cancellationToken);
        LogStarted(name, removed.Count);
        // A load was created after the removal was recorded: record it too.
        if (removed.Any(load => !recorded.Folders.ContainsKey(load.Load)))
            recorded = await record.RunAsync(name, cancellationToken);
        await WaitForSlicesAsync(name, removed, progress, cancellationToken);
        // The marks are retired now: later backfills and layouts never receive them, so only the layouts listed now must be cleaned.
        var layouts = await database.GetLayoutsAsync(cancellationToken);
        layouts.RequireKnown();
        var entities = await removeMarks.RunAsync(removed, layouts.Written, progress, EndAsync, cancellationToken);
        var left = await database.ListLoadsAsync(name, cancellationToken);
        return new BreachRemoval(name, [.. removed.Select(load => load.Load)], [.. left.Select(load => load.Id)], entities);

        async Task EndAsync(LoadRemoval load)
        {
            if (recorded.Folders.GetValueOrDefault(load.Load) is { } folder)
                await record.DeleteJournalAsync(folder, cancellationToken);
            await callbacks.DeleteAsync(load.Load, cancellationToken);
            await database.FinishRemovalAsync(load.Load, cancellationToken);
            LogRemoved(name, load.Load.Value);
        }
    }

    /// <summary>Accounts are changed only after a catalogue without these marks has been published.</summary>
    private async Task<IReadOnlyList<LoadRemoval>> UnlistAsync(string breach, CancellationToken cancellationToken)
    {
        IReadOnlyList<LoadRemoval> removed = [];
        var change = await publisher.ChangeAsync(
            async () => removed = await database.BeginRemovalAsync(breach, cancellationToken), cancellationToken);
        await change.PublishAsync(
            done: $"{breach} is unlisted, and 'hibp breach remove' resumes its removal", shown: "readers are still shown it",
            cancellationToken);
        return removed;
    }

    /// <summary>Waits until no slice of the loads is running: no new one can start, and a running one ends when its lease does.</summary>
    private async Task WaitForSlicesAsync(
        string breach, IReadOnlyList<LoadRemoval> removed, IProgress<RemovalProgress>? progress, CancellationToken cancellationToken)
    {
        LoadId[] ids = [.. removed.Select(load => load.Load)];
        var began = time.GetTimestamp();
        while (await database.HasLeasedSlicesAsync(ids, cancellationToken))
        {
            if (time.GetElapsedTime(began) > MaxWait)
            {
                throw new NotPossibleException(
                    $"a slice of {breach} is still running after {MaxWait.TotalMinutes:0} minutes; its load is already hidden from "
                    + "lookups. Find the cause (hibp load slices), then run 'hibp breach remove' again");
            }
            LogWaiting(breach);
            progress?.Report(new RemovalProgress(0, 0, Waiting: true));
            await Task.Delay(PollInterval, time, cancellationToken);
        }
    }

    [LoggerMessage(
        EventIds.RemoveBreachBegun, LogLevel.Information, "removal of {Breach}: started, hidden from all readers ({Loads} loads)")]
    private partial void LogStarted(string breach, int loads);

    [LoggerMessage(EventIds.RemoveBreachWaiting, LogLevel.Information, "removal of {Breach}: waiting for a running slice")]
    private partial void LogWaiting(string breach);

    [LoggerMessage(EventIds.RemoveBreachRemoved, LogLevel.Information, "load {Load} of {Breach}: removed")]
    private partial void LogRemoved(string breach, long load);
}

/// <param name="RemainingLoads">Loads created after the removal began; the breach keeps them. Empty if it is removed.</param>
/// <param name="Entities">Number of entities of the account table that this run has changed.</param>
public sealed record BreachRemoval(string Breach, IReadOnlyList<LoadId> Loads, IReadOnlyList<LoadId> RemainingLoads, long Entities);

/// <summary>Progress of a removal, in accounts of the removed loads.</summary>
/// <param name="Total">Accounts that this run has to process; 0 if not known yet.</param>
/// <param name="Waiting">True if it waits for slices that were running when it began.</param>
/// <param name="Reason">Reason why the removal waits for a store; null if it doesn't wait.</param>
public readonly record struct RemovalProgress(long Done, long Total, bool Waiting = false, string? Reason = null);
