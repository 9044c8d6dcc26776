using System.Text;
using HibpIngest.AccountLog;
using HibpIngest.Accounts;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using Microsoft.Extensions.Logging;
using Polly;

namespace HibpIngest.Pipeline;

/// <summary>
/// Removes a breach with the loads that it has when this begins. Before the database knows, the account log and the register
/// do, so that a database that is restored to before it ends the removal too. Readers are done with the first transaction,
/// which unlists them, and the catalogue that is published of it; what follows is housekeeping. Its key is the
/// listed loads: run again, beside itself too, it goes on with those. A load that comes later has a mark of its own,
/// and nothing of it is touched.
/// </summary>
public sealed partial class RemoveBreach(
    IRemovals removals, ICatalogue catalogue, PublishCatalogue publisher, ILoads loads, IRows rows, ILayouts layouts, IReceipts receipts,
    ILoadLog log, IAccountLogBlobs logBlobs, ICallbackBlobs callbacks, IDatabaseSetup database, IStoreTables tables,
    IOptions<JournalOptions> journal, IOptions<UpsertOptions> upsert, TimeProvider time, ILogger<RemoveBreach> logger,
    int chunkRows = RemoveBreach.ChunkRows)
{
    /// <summary>
    /// Rows worked on at once: so many of a large domain are then together that its transactions are full, and
    /// the transaction that takes the rows away is some 100 ms.
    /// </summary>
    public const int ChunkRows = 20_000;

    // Accounts of one partition that are worked on together; the partitions of a chunk side by side.
    private const int PartitionAccounts = 1_000;

    // A part of the table has so many requests in flight, more or less.
    private const int RequestsAPart = 4;

    // A slice's lease is 60 s and is not renewed once its load is being removed; twice that, for clocks and a slow renewal.
    private static readonly TimeSpan LongestWait = TimeSpan.FromMinutes(2);
    private static readonly TimeSpan LookEvery = TimeSpan.FromSeconds(1);

    private IProgress<RemovalProgress>? _progress;
    private ResiliencePipeline? _retry;
    private long _total;
    private long _done;
    private long _entities;
    private IReadOnlyList<StoreLayout> _layouts = [];

    /// <exception cref="NotPossibleException">
    /// No such breach; one of its loads is open; a slice is under way and doesn't end. In the last case it is to be run again.
    /// </exception>
    /// <exception cref="CatalogueBehindException">Readers are still shown it; it is to be run again.</exception>
    public async Task<BreachRemoval> RunAsync(string breach, IProgress<RemovalProgress>? progress, CancellationToken cancellationToken)
    {
        _progress = progress;
        var name = (await catalogue.GetBreachAsync(breach, cancellationToken))?.Name ?? breach;
        var recorded = await RecordAsync(name, cancellationToken);
        var removed = await UnlistAsync(name, cancellationToken);
        LogBegun(name, removed.Count);
        // One that came in between is among them.
        if (removed.Any(load => !recorded.Contains(load.Load)))
            await RecordAsync(name, cancellationToken);
        await WaitForSlicesAsync(name, removed, cancellationToken);
        // A fill that begins behind this finds the marks dead, and adds none of them; of a layout that is added
        // behind it, nothing is written under them.
        var set = await layouts.GetLayoutsAsync(cancellationToken);
        set.RequireKnown();
        _layouts = set.Written;

        // Loads of a store upgraded from schema 1 share their mark: one walk over the table is for all of them.
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
                    await LogLoad.DeleteAsync(logBlobs, LogNames.Folder(entry), cancellationToken);
                await callbacks.DeleteAsync(load.Load, cancellationToken);
                await removals.FinishRemovalAsync(load.Load, cancellationToken);
                LogRemoved(name, load.Load);
            }
        }
        var left = await loads.ListLoadsAsync(breach, cancellationToken);
        return new BreachRemoval(name, [.. removed.Select(load => load.Load)], [.. left.Select(load => load.Id)], _entities);
    }

    /// <summary>Takes it away from readers. No account is touched as long as the catalogue tells them of it.</summary>
    private async Task<IReadOnlyList<LoadRemoval>> UnlistAsync(string breach, CancellationToken cancellationToken)
    {
        var change = await publisher.BeginChangeAsync(cancellationToken);
        IReadOnlyList<LoadRemoval> removed;
        try
        {
            removed = await removals.BeginRemovalAsync(breach, cancellationToken);
        }
        catch (NotPossibleException)
        {
            await change.AbandonAsync(cancellationToken);
            throw;
        }
        await change.PublishAsync(
            $"{breach} is unlisted, and 'hibp breach remove' run again goes on with its removal", "readers are still shown it",
            cancellationToken);
        return removed;
    }

    /// <summary>
    /// Records the removal in the account log, then in the register, both of which outlive a database: whatever is made from the log
    /// is without these loads, and none of their files is loaded again.
    /// </summary>
    /// <returns>The loads; none where the removal is refused.</returns>
    private async Task<IReadOnlySet<long>> RecordAsync(string breach, CancellationToken cancellationToken)
    {
        var all = await loads.ListLoadsAsync(breach, cancellationToken);
        // A removal that began earlier goes on with its loads, and takes no other.
        var begun = all.Where(load => load.Removing).ToList();
        var taken = begun.Count > 0 ? begun : all;
        if (begun.Count == 0 && taken.Any(load => load.State is not (LoadState.Done or LoadState.Failed or LoadState.Held)))
            return new HashSet<long>();
        IReadOnlyList<RemovedLoad> together = [.. taken.Select(load => new RemovedLoad(load.Id, load.Blob.Name, load.Blob.ETag))];
        foreach (var load in taken)
            await UnlogAsync(load.Id, together, cancellationToken);
        var ids = taken.Select(load => load.Id).ToHashSet();
        foreach (var load in taken)
        {
            // A version that was restarted, and given to another breach, isn't removed.
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
        await logBlobs.CreateAsync(cancellationToken); // which may be another account by now, or be gone
        // One that is there already is an earlier run's.
        await logBlobs.WriteAsync(LogNames.Folder(entry) + LogNames.Removed, removal.ToJson(), cancellationToken);
    }

    /// <summary>
    /// A load of which there may be something in the account log. While that is written, every load: one that was not logged yet
    /// would come back with a database from before its removal.
    /// </summary>
    private async Task<LoadLogEntry?> FindLoggedAsync(long load, CancellationToken cancellationToken) =>
        await log.GetLogEntryAsync(load, cancellationToken) is { } entry
        && (entry.Segments.Count > 0 || (journal.Value.Log == LogMode.On && entry.Mark > 0)) ? entry : null;

    private static bool HasEntities(LoadRemoval load) => load is { Mark: > 0, SharesMark: false };

    /// <summary>Whether rows that would name the entities are missing.</summary>
    private static bool IsWalked(List<LoadRemoval> sharing) => sharing.Exists(load => load.RowsPurged && HasEntities(load));

    private static long AccountsOf(List<LoadRemoval> sharing) =>
        sharing.Where(HasEntities).Sum(load => IsWalked(sharing) ? load.Last : Math.Max(load.Last - load.First + 1, 0));

    /// <summary>
    /// Until no slice can write behind the removal: none is begun any more, and one that is under way has a
    /// lease.
    /// </summary>
    private async Task WaitForSlicesAsync(string breach, IReadOnlyList<LoadRemoval> removed, CancellationToken cancellationToken)
    {
        long[] ids = [.. removed.Select(load => load.Load)];
        var began = time.GetTimestamp();
        while (await removals.HasLivingSlicesAsync(ids, cancellationToken))
        {
            if (time.GetElapsedTime(began) > LongestWait)
            {
                throw new NotPossibleException(
                    $"a slice of {breach} is still at work, {LongestWait.TotalMinutes:0} minutes after its load was taken out of every "
                    + "lookup: see what keeps it (hibp slices), then run 'hibp breach remove' again");
            }
            LogWaiting(breach);
            _progress?.Report(new RemovalProgress(0, 0, Waiting: true));
            await Task.Delay(LookEvery, time, cancellationToken);
        }
    }

    /// <summary>
    /// Takes a load's mark off the accounts of its rows, chunk by chunk; a chunk's rows go once its accounts
    /// are done, so that a run that is broken off goes on where it was.
    /// </summary>
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
        var inFlight = AtOnce(upsert.Value.TransactionsInFlight, cancellationToken);
        await Parallel.ForEachAsync(ByPartition(chunk, placement), inFlight, async (accounts, token) =>
        {
            var table = tables.Accounts(new TablePlace(accounts.Place.StorageAccount, facts.AccountsTable));
            var changed = await Retry.ExecuteAsync(
                async stop => await table.RemoveMarkAsync(accounts.Place.Partition, accounts.Aliases, load.Mark, stop), token);
            // Accounts are counted, not the copies of them.
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
            await Retry.ExecuteAsync(
                async stop => await ranges.RemoveMarkAsync(hashes.Partition, hashes.Rows, load.Mark, stop), token);
        });
    }

    private bool IsFirst(LayoutFacts facts) => ReferenceEquals(facts, _layouts[0].Facts);

    /// <summary>
    /// The accounts of a chunk by their partition, the most first, so that none of the large ones is left for
    /// last.
    /// </summary>
    private static IEnumerable<(PartitionPlace Place, string[] Aliases)> ByPartition(AccountBatch chunk, LayoutPlacement placement) =>
        Enumerable.Range(0, chunk.Count)
            .Select(i => (Domain: Encoding.ASCII.GetString(chunk.Domain(i)), Alias: Encoding.ASCII.GetString(chunk.Alias(i))))
            .GroupBy(account => placement.Find(account.Alias, account.Domain), account => account.Alias)
            .SelectMany(place => place.Order(StringComparer.Ordinal).Chunk(PartitionAccounts).Select(aliases => (place.Key, aliases)))
            .OrderByDescending(accounts => accounts.aliases.Length);

    /// <summary>The same accounts by the partition of their hash.</summary>
    private static IEnumerable<(string Partition, string[] Rows)> ByHash(AccountBatch chunk) =>
        Enumerable.Range(0, chunk.Count)
            .Select(i => RangeKeys.Of(chunk.Alias(i), chunk.Domain(i)))
            .GroupBy(key => key.Partition, key => key.Row)
            .Select(partition => (partition.Key, partition.ToArray()));

    /// <summary>
    /// Takes a mark off every account that has it, and off every hash, part by part of the tables, page by page;
    /// how far each part is stands with the first of its loads.
    /// </summary>
    private async Task WalkTableAsync(List<LoadRemoval> sharing, CancellationToken cancellationToken)
    {
        var recorded = sharing.Find(load => load.Token is not null) ?? sharing[0];
        var walk = TableWalk.Parse(recorded.Token);
        using var recording = new SemaphoreSlim(1);
        var before = _done;
        var atOnce = AtOnce(Math.Max(upsert.Value.TransactionsInFlight / RequestsAPart, 1), cancellationToken);
        var parts =
            from layout in _layouts
            from part in TablePart.OfAccounts(layout.Facts).Select(part => (Of: layout, Part: part, OfRanges: false))
                .Concat(TablePart.OfRanges(layout.Facts).Where(_ => layout.WritesRanges).Select(part => (layout, part, true)))
            select part;
        await Parallel.ForEachAsync(parts, atOnce, async (one, token) =>
        {
            var (layout, part, ofRanges) = one;
            while (!walk.IsDone(part))
            {
                var page = await Retry.ExecuteAsync(
                    async stop => ofRanges
                        ? await tables.Ranges(part.Place).RemoveMarkAsync(recorded.Mark, part.Number, walk.Token(part), stop)
                        : await tables.Accounts(part.Place).RemoveMarkAsync(recorded.Mark, part.Number, walk.Token(part), stop),
                    token);
                if (!ofRanges && IsFirst(layout.Facts))
                {
                    Interlocked.Add(ref _entities, page.Changed);
                    Report(page.Changed);
                }
                await recording.WaitAsync(token);
                try
                {
                    walk.MoveTo(part, page.Token);
                    await removals.SetRemovalTokenAsync(recorded.Load, walk.ToString(), token);
                }
                finally
                {
                    recording.Release();
                }
            }
        });
        // Rows are no measure of what the walk finds: an account may be in several, and an earlier run may have done a part.
        Report(AccountsOf(sharing) - (Interlocked.Read(ref _done) - before));
    }

    private static ParallelOptions AtOnce(int most, CancellationToken cancellationToken) =>
        new() { MaxDegreeOfParallelism = most, CancellationToken = cancellationToken };

    private void ReportPaused(string reason, TimeSpan pause)
    {
        LogPaused(reason, pause);
        _progress?.Report(new RemovalProgress(Interlocked.Read(ref _done), _total, Reason: reason));
    }

    private void Report(long more) => _progress?.Report(new RemovalProgress(Interlocked.Add(ref _done, more), _total));

    private ResiliencePipeline Retry => _retry ??= TableRetry.Create(ReportPaused, time);
}
