using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.Upsert;
using Polly;

namespace HibpIngest.Pipeline.Removal;

/// <summary>
/// Removes a breach with the loads that it has when this begins. The removal is recorded in the journal and the register before the
/// database, so that a database restored to an earlier state completes it too. The first transaction unlists the loads; once the catalogue
/// is published after that, no reader sees them, and the rest is housekeeping. Idempotency key: the listed loads; another run, even a
/// concurrent one, continues with those. A load that comes later has its own mark and isn't touched.
/// </summary>
public sealed partial class RemoveBreach(
    ICatalogue catalogue, PublishCatalogue publisher, ILoads loads, ILoadRows rows, ILayouts layouts, IStoreMarks receipts,
    IJournalBlobs logBlobs, ICallbackBlobs callbacks, IDatabaseState database, IStoreTables tables,
    IOptions<JournalOptions> journal, IOptions<UpsertOptions> upsert, TimeProvider time, ILogger<RemoveBreach> logger,
    int chunkRows = RemoveBreach.ChunkRows)
{
    /// <summary>Rows processed together: enough that transactions are full, few enough that deleting the rows takes some 100 ms.</summary>
    public const int ChunkRows = 20_000;

    // Accounts of one partition that are processed together; the partitions of a chunk are processed in parallel.
    private const int PartitionAccounts = 1_000;

    // A slice's lease is 60 s and isn't renewed once its load is being removed; doubled for clock differences and a slow renewal.
    private static readonly TimeSpan LongestWait = TimeSpan.FromMinutes(2);
    private static readonly TimeSpan PollInterval = TimeSpan.FromSeconds(1);

    private IProgress<RemovalProgress>? _progress;
    private long _total;
    private long _done;
    private long _entities;
    private IReadOnlyList<StoreLayout> _layouts = [];

    /// <exception cref="NotPossibleException">There is no such breach, one of its loads is open, or a running slice doesn't
    /// end.</exception>
    /// <exception cref="CatalogueBehindException">Readers still see the breach; it must be run again.</exception>
    public async Task<BreachRemoval> RunAsync(string breach, IProgress<RemovalProgress>? progress, CancellationToken cancellationToken)
    {
        _progress = progress;
        var name = (await catalogue.GetBreachAsync(breach, cancellationToken))?.Name ?? breach;
        var recorded = await RecordAsync(name, cancellationToken);
        var removed = await UnlistAsync(name, cancellationToken);
        LogStarted(name, removed.Count);
        // The removal includes a load that came in between.
        if (removed.Any(load => !recorded.Contains(load.Load)))
            await RecordAsync(name, cancellationToken);
        await WaitForSlicesAsync(name, removed, cancellationToken);
        // A backfill that begins after this finds the marks retired and adds none of them, and nothing is written under them to a layout
        // that is added after this.
        var set = await layouts.GetLayoutsAsync(cancellationToken);
        set.RequireKnown();
        _layouts = set.Written;

        // Loads of a store upgraded from schema 1 share their mark: one walk over the table covers all of them.
        var marks = removed.GroupBy(load => load.Mark).Select(group => group.ToList()).ToList();
        _total = marks.Sum(AccountsOf);
        Report(0);
        foreach (var sharing in marks)
        {
            if (IsWalked(sharing))
                await WalkTableAsync(sharing, cancellationToken);
            if (sharing.Exists(load => load is { SharesMark: true, Mark: > 0 }))
                LogMarkStays(sharing[0].Mark);
            foreach (var load in sharing)
            {
                await WalkRowsAsync(load, hasEntities: HasEntities(load) && !IsWalked(sharing), cancellationToken);
                if (await FindLoggedAsync(load.Load, cancellationToken) is { } entry)
                    await WriteJournal.DeleteAsync(logBlobs, JournalNames.Folder(entry), cancellationToken);
                await callbacks.DeleteAsync(load.Load, cancellationToken);
                await catalogue.FinishRemovalAsync(load.Load, cancellationToken);
                LogRemoved(name, load.Load);
            }
        }
        var left = await loads.ListLoadsAsync(breach, cancellationToken);
        return new BreachRemoval(name, [.. removed.Select(load => load.Load)], [.. left.Select(load => load.Id)], _entities);
    }

    /// <summary>Removes the loads from the catalogue. No account is changed as long as the published catalogue counts its mark.</summary>
    private async Task<IReadOnlyList<LoadRemoval>> UnlistAsync(string breach, CancellationToken cancellationToken)
    {
        IReadOnlyList<LoadRemoval> removed = [];
        var change = await publisher.ChangeAsync(
            async () => removed = await catalogue.BeginRemovalAsync(breach, cancellationToken), cancellationToken);
        await change.PublishAsync(
            $"{breach} is unlisted, and 'hibp breach remove' resumes its removal", "readers are still shown it", cancellationToken);
        return removed;
    }

    /// <summary>Records the removal in journal and register, which outlive a database: no restore brings the loads or files back.</summary>
    /// <returns>Ids of the loads; empty: the removal will be refused.</returns>
    private async Task<IReadOnlySet<long>> RecordAsync(string breach, CancellationToken cancellationToken)
    {
        var all = await loads.ListLoadsAsync(breach, cancellationToken);
        // A removal that began earlier continues with its own loads only.
        var removing = all.Where(load => load.Removing).ToList();
        var chosen = removing.Count > 0 ? removing : all;
        if (removing.Count == 0 && chosen.Any(load => load.State is not (LoadState.Done or LoadState.Failed or LoadState.Held)))
            return new HashSet<long>();
        IReadOnlyList<RemovedLoad> together = [.. chosen.Select(load => new RemovedLoad(load.Id, load.Blob.Name, load.Blob.ETag))];
        foreach (var load in chosen)
            await UnlogAsync(load.Id, together, cancellationToken);
        var ids = chosen.Select(load => load.Id).ToHashSet();
        foreach (var load in chosen)
        {
            // A version that was restarted as another load, and assigned to another breach, isn't removed.
            if (await loads.FindLoadAsync(load.Blob, cancellationToken) is not { } newest || ids.Contains(newest.Id))
                await receipts.AddRemovedAsync(load.Blob, cancellationToken);
        }
        return ids;
    }

    private async Task UnlogAsync(long load, IReadOnlyList<RemovedLoad> together, CancellationToken cancellationToken)
    {
        if (await FindLoggedAsync(load, cancellationToken) is not { } entry)
            return;
        var removal = RemovedDocument.Of(entry, (await database.GetIdentityAsync(cancellationToken))!.Id, together);
        await logBlobs.CreateAsync(cancellationToken); // the container may be missing: another storage account may be configured by now
        // An existing document is an earlier run's.
        await logBlobs.WriteAsync(JournalNames.Folder(entry) + JournalNames.Removed, removal.ToJson(), cancellationToken);
    }

    // Returns a load's entry if the journal may have blobs of it. While the journal is on, that includes every load: one that was not
    // journaled yet would come back with a database from before its removal.
    private async Task<JournalEntry?> FindLoggedAsync(long load, CancellationToken cancellationToken) =>
        await rows.GetLogEntryAsync(load, cancellationToken) is { } entry
        && (entry.Segments.Count > 0 || (journal.Value.Mode == JournalMode.On && entry.Mark > 0)) ? entry : null;

    private static bool HasEntities(LoadRemoval load) => load is { Mark: > 0, SharesMark: false };

    // The rows that name the entities are purged.
    private static bool IsWalked(List<LoadRemoval> sharing) => sharing.Exists(load => load.RowsPurged && HasEntities(load));

    private static long AccountsOf(List<LoadRemoval> sharing) =>
        sharing.Where(HasEntities).Sum(load => IsWalked(sharing) ? load.Last : Math.Max(load.Last - load.First + 1, 0));

    /// <summary>Waits until no slice can write after the removal: none starts any more, and a running one has a lease.</summary>
    private async Task WaitForSlicesAsync(string breach, IReadOnlyList<LoadRemoval> removed, CancellationToken cancellationToken)
    {
        long[] ids = [.. removed.Select(load => load.Load)];
        var began = time.GetTimestamp();
        while (await catalogue.HasLivingSlicesAsync(ids, cancellationToken))
        {
            if (time.GetElapsedTime(began) > LongestWait)
            {
                throw new NotPossibleException(
                    $"a slice of {breach} is still running, {LongestWait.TotalMinutes:0} minutes after its load was removed from every "
                    + "lookup: find the cause (hibp load slices), then run 'hibp breach remove' again");
            }
            LogWaiting(breach);
            _progress?.Report(new RemovalProgress(0, 0, Waiting: true));
            await Task.Delay(PollInterval, time, cancellationToken);
        }
    }

    // Removes a load's mark from the accounts of its rows, chunk by chunk. A chunk's rows are deleted after its accounts are done, so that
    // an interrupted run resumes there.
    private async Task WalkRowsAsync(LoadRemoval load, bool hasEntities, CancellationToken cancellationToken)
    {
        var chunk = new AccountBatch(chunkRows);
        for (var first = load.First; first <= load.Last; first += chunkRows)
        {
            var last = Math.Min(first + chunkRows - 1, load.Last);
            if (hasEntities)
            {
                await rows.ReadRowsAsync(load.Load, first, last, chunk, cancellationToken);
                foreach (var layout in _layouts)
                    await RemoveAsync(load, chunk, layout, cancellationToken);
            }
            await rows.DeleteRowsUpToAsync(load.Load, last, cancellationToken);
        }
    }

    private async Task RemoveAsync(LoadRemoval load, AccountBatch chunk, StoreLayout layout, CancellationToken cancellationToken)
    {
        var (facts, placement) = (layout.Facts, new LayoutPlacement(layout.Facts));
        var inFlight = Parallelism.Of(upsert.Value.TransactionsInFlight, cancellationToken);
        await Parallel.ForEachAsync(ByPartition(chunk, placement), inFlight, async (accounts, token) =>
        {
            var table = tables.Accounts(new TablePlace(accounts.Place.StorageAccount, facts.AccountsTable));
            var changed = await Retry.ExecuteAsync(
                async stop => await table.RemoveMarkAsync(accounts.Place.Partition, accounts.Aliases, load.Mark, stop), token);
            // Accounts are counted once, not in each layout.
            if (!IsFirst(facts))
                return;
            Interlocked.Add(ref _entities, changed);
            Report(accounts.Aliases.Length);
        });
        if (!layout.WritesRanges)
            return;
        await Parallel.ForEachAsync(ByHash(chunk), inFlight, async (hashes, token) =>
        {
            var ranges = tables.Ranges(RangeKeys.PlaceOf(hashes.Partition, facts, placement));
            await Retry.ExecuteAsync(async stop => await ranges.RemoveMarkAsync(hashes.Partition, hashes.Rows, load.Mark, stop), token);
        });
    }

    private bool IsFirst(LayoutFacts facts) => ReferenceEquals(facts, _layouts[0].Facts);

    /// <summary>Groups the accounts of a chunk by partition, largest first, so that no large group is left for last.</summary>
    private static IEnumerable<(PartitionPlace Place, string[] Aliases)> ByPartition(AccountBatch chunk, LayoutPlacement placement) =>
        Enumerable.Range(0, chunk.Count)
            .Select(i => (Domain: Encoding.ASCII.GetString(chunk.Domain(i)), Alias: Encoding.ASCII.GetString(chunk.Alias(i))))
            .GroupBy(account => placement.Find(account.Alias, account.Domain), account => account.Alias)
            .SelectMany(place => place.Order(StringComparer.Ordinal).Chunk(PartitionAccounts).Select(aliases => (place.Key, aliases)))
            .OrderByDescending(accounts => accounts.aliases.Length);

    private static IEnumerable<(string Partition, string[] Rows)> ByHash(AccountBatch chunk) =>
        Enumerable.Range(0, chunk.Count)
            .Select(i => RangeKeys.Of(chunk.Alias(i), chunk.Domain(i)))
            .GroupBy(key => key.Partition, key => key.Row)
            .Select(partition => (partition.Key, partition.ToArray()));

    // Removes a mark from every account and every hash that has it, part by part and page by page; the progress is recorded with the first
    // of its loads.
    private async Task WalkTableAsync(List<LoadRemoval> sharing, CancellationToken cancellationToken)
    {
        var recorded = sharing.Find(load => load.Token is not null) ?? sharing[0];
        var walk = TableWalk.Parse(recorded.Token);
        var before = _done;
        var atOnce = TablePart.InParallel(upsert.Value, cancellationToken);
        var parts =
            from layout in _layouts
            from part in TablePart.Of(layout.Facts, layout.WritesRanges)
            select (layout, part);
        await Parallel.ForEachAsync(parts, atOnce, async (one, token) =>
        {
            var (layout, part) = one;
            while (!walk.IsDone(part))
            {
                var page = await Retry.ExecuteAsync(
                    async stop => await part.RemoveMarkAsync(tables, recorded.Mark, walk.Token(part), stop), token);
                if (!part.OfRanges && IsFirst(layout.Facts))
                {
                    Interlocked.Add(ref _entities, page.Changed);
                    Report(page.Changed);
                }
                await walk.MoveToAsync(
                    part, page.Token, (text, stop) => catalogue.SetRemovalTokenAsync(recorded.Load, text, stop), token);
            }
        });
        // Corrects the progress: an account may be in several loads' rows, and an earlier run may have done a part.
        Report(AccountsOf(sharing) - (Interlocked.Read(ref _done) - before));
    }

    private void ReportPaused(string reason, TimeSpan pause)
    {
        LogPaused(reason, pause);
        _progress?.Report(new RemovalProgress(Interlocked.Read(ref _done), _total, Reason: reason));
    }

    private void Report(long more) => _progress?.Report(new RemovalProgress(Interlocked.Add(ref _done, more), _total));

    private ResiliencePipeline Retry => field ??= TableRetry.Create(ReportPaused, time);

    [LoggerMessage(
        EventIds.RemoveBreachBegun, LogLevel.Information, "removal of {Breach}: started, hidden from all readers ({Loads} loads)")]
    private partial void LogStarted(string breach, int loads);

    [LoggerMessage(EventIds.RemoveBreachWaiting, LogLevel.Information, "removal of {Breach}: waiting for a slice in progress")]
    private partial void LogWaiting(string breach);

    [LoggerMessage(EventIds.RemoveBreachMarkStays, LogLevel.Warning, "mark {Mark}: kept on the accounts because another load has it")]
    private partial void LogMarkStays(int mark);

    [LoggerMessage(EventIds.RemoveBreachRemoved, LogLevel.Information, "load {Load} of {Breach}: removed")]
    private partial void LogRemoved(string breach, long load);

    [LoggerMessage(EventIds.RemoveBreachPaused, LogLevel.Information, "removal: paused for {Pause}: {Reason}")]
    private partial void LogPaused(string reason, TimeSpan pause);
}

/// <param name="Left">Loads of the breach that came after the removal began: the breach stays with these. Empty: it is removed.</param>
/// <param name="Entities">Number of entities of the account table that this run has changed.</param>
public sealed record BreachRemoval(string Breach, IReadOnlyList<long> Loads, IReadOnlyList<long> Left, long Entities);

/// <summary>Progress of a removal, in accounts of the removed loads.</summary>
/// <param name="Total">Accounts that this run has to process; 0: not known yet.</param>
/// <param name="Waiting">Whether it waits for slices that were running when it began.</param>
/// <param name="Reason">Why it waits for a store; null: it doesn't.</param>
public readonly record struct RemovalProgress(long Done, long Total, bool Waiting = false, string? Reason = null);
