using HibpIngest.Pipeline.Catalogue;

namespace HibpIngest.Pipeline.Removal;

/// <summary>
/// Removes a breach with the loads that it has when this begins. The removal is recorded in the journal and the register before the
/// database, so that a database restored to an earlier state completes it too. The first transaction unlists the loads; once the catalogue
/// is published after that, no reader sees them, and the rest is housekeeping. Idempotency key: the listed loads; another run, even a
/// concurrent one, continues with those. A load that comes later has its own mark and isn't touched.
/// </summary>
public sealed partial class RemoveBreach(
    IBreachDatabase database, PublishCatalogue publisher, RecordRemoval record, RemoveMarks removeMarks, ICallbackBlobs callbacks,
    TimeProvider time, ILogger<RemoveBreach> logger)
{
    // A slice's lease is 60 s and isn't renewed once its load is being removed; doubled for clock differences and a slow renewal.
    private static readonly TimeSpan LongestWait = TimeSpan.FromMinutes(2);
    private static readonly TimeSpan PollInterval = TimeSpan.FromSeconds(1);

    /// <exception cref="NotPossibleException">There is no such breach, one of its loads is open, or a running slice doesn't
    /// end.</exception>
    /// <exception cref="CatalogueBehindException">Readers still see the breach; it must be run again.</exception>
    public async Task<BreachRemoval> RunAsync(string breach, IProgress<RemovalProgress>? progress, CancellationToken cancellationToken)
    {
        var name = (await database.GetBreachAsync(breach, cancellationToken))?.Name ?? breach;
        var recorded = await record.RunAsync(name, cancellationToken);
        var removed = await UnlistAsync(name, cancellationToken);
        LogStarted(name, removed.Count);
        // The removal includes a load that came in between.
        if (removed.Any(load => !recorded.Contains(load.Load)))
            await record.RunAsync(name, cancellationToken);
        await WaitForSlicesAsync(name, removed, progress, cancellationToken);
        // A backfill that begins after this finds the marks retired and adds none of them, and nothing is written under them to a layout
        // that is added after this.
        var set = await database.GetLayoutsAsync(cancellationToken);
        set.RequireKnown();
        var entities = await removeMarks.RunAsync(removed, set.Written, progress, EndAsync, cancellationToken);
        var left = await database.ListLoadsAsync(breach, cancellationToken);
        return new BreachRemoval(name, [.. removed.Select(load => load.Load)], [.. left.Select(load => load.Id)], entities);

        async Task EndAsync(LoadRemoval load)
        {
            await record.DeleteJournalAsync(load.Load, cancellationToken);
            await callbacks.DeleteAsync(load.Load, cancellationToken);
            await database.FinishRemovalAsync(load.Load, cancellationToken);
            LogRemoved(name, load.Load);
        }
    }

    /// <summary>Removes the loads from the catalogue. No account is changed as long as the published catalogue counts its mark.</summary>
    private async Task<IReadOnlyList<LoadRemoval>> UnlistAsync(string breach, CancellationToken cancellationToken)
    {
        IReadOnlyList<LoadRemoval> removed = [];
        var change = await publisher.ChangeAsync(
            async () => removed = await database.BeginRemovalAsync(breach, cancellationToken), cancellationToken);
        await change.PublishAsync(
            $"{breach} is unlisted, and 'hibp breach remove' resumes its removal", "readers are still shown it", cancellationToken);
        return removed;
    }

    /// <summary>Waits until no slice can write after the removal: none starts any more, and a running one has a lease.</summary>
    private async Task WaitForSlicesAsync(
        string breach, IReadOnlyList<LoadRemoval> removed, IProgress<RemovalProgress>? progress, CancellationToken cancellationToken)
    {
        long[] ids = [.. removed.Select(load => load.Load)];
        var began = time.GetTimestamp();
        while (await database.HasLivingSlicesAsync(ids, cancellationToken))
        {
            if (time.GetElapsedTime(began) > LongestWait)
            {
                throw new NotPossibleException(
                    $"a slice of {breach} is still running, {LongestWait.TotalMinutes:0} minutes after its load was removed from every "
                    + "lookup: find the cause (hibp load slices), then run 'hibp breach remove' again");
            }
            LogWaiting(breach);
            progress?.Report(new RemovalProgress(0, 0, Waiting: true));
            await Task.Delay(PollInterval, time, cancellationToken);
        }
    }

    [LoggerMessage(
        EventIds.RemoveBreachBegun, LogLevel.Information, "removal of {Breach}: started, hidden from all readers ({Loads} loads)")]
    private partial void LogStarted(string breach, int loads);

    [LoggerMessage(EventIds.RemoveBreachWaiting, LogLevel.Information, "removal of {Breach}: waiting for a slice in progress")]
    private partial void LogWaiting(string breach);

    [LoggerMessage(EventIds.RemoveBreachRemoved, LogLevel.Information, "load {Load} of {Breach}: removed")]
    private partial void LogRemoved(string breach, long load);
}

/// <param name="Left">Loads of the breach that came after the removal began: the breach stays with these. Empty: it is removed.</param>
/// <param name="Entities">Number of entities of the account table that this run has changed.</param>
public sealed record BreachRemoval(string Breach, IReadOnlyList<long> Loads, IReadOnlyList<long> Left, long Entities);

/// <summary>Progress of a removal, in accounts of the removed loads.</summary>
/// <param name="Total">Accounts that this run has to process; 0: not known yet.</param>
/// <param name="Waiting">True if it waits for slices that were running when it began.</param>
/// <param name="Reason">Why it waits for a store; null: it doesn't.</param>
public readonly record struct RemovalProgress(long Done, long Total, bool Waiting = false, string? Reason = null);
