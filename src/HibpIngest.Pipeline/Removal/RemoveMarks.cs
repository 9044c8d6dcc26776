using HibpIngest.Pipeline.Layouts;
using Polly;

namespace HibpIngest.Pipeline.Removal;

/// <summary>
/// Removes the marks of removed loads from the accounts and ranges of every layout, and deletes the loads' rows. Idempotency key: the
/// load. An interrupted run resumes at the first row that is left, or at the recorded page of a table.
/// </summary>
public sealed partial class RemoveMarks(
    IBreachDatabase database, IStoreTables tables, IOptions<UpsertOptions> upsert, TimeProvider time, ILogger<RemoveMarks> logger,
    int rowsAtOnce = RemoveMarks.RowsAtOnce)
{
    /// <summary>Rows processed together: enough that transactions are full, few enough that deleting the rows takes some 100 ms.</summary>
    public const int RowsAtOnce = 20_000;

    // Accounts of one partition that are processed together; the partitions of a chunk are processed in parallel.
    private const int PartitionAccounts = 1_000;

    private IProgress<RemovalProgress>? _progress;
    private long _total;
    private long _done;
    private long _entities;
    private IReadOnlyList<StoreLayout> _layouts = [];

    /// <summary>Returns the number of entities of the account table that were changed.</summary>
    /// <param name="onRemoved">Called for each load when nothing of it is left in the tables and its rows are deleted.</param>
    public async Task<long> RunAsync(
        IReadOnlyList<LoadRemoval> removed, IReadOnlyList<StoreLayout> layouts, IProgress<RemovalProgress>? progress,
        Func<LoadRemoval, Task> onRemoved, CancellationToken cancellationToken)
    {
        (_progress, _layouts) = (progress, layouts);
        // Loads of a store upgraded from schema 1 share their mark: one scan of the table covers all of them.
        var marks = removed.GroupBy(load => load.Mark).Select(group => group.ToList()).ToList();
        _total = marks.Sum(AccountsOf);
        Report(0);
        foreach (var sharing in marks)
        {
            if (IsScanned(sharing))
                await ScanTableAsync(sharing, cancellationToken);
            if (sharing.Exists(load => load is { SharesMark: true, Mark: > 0 }))
                LogMarkStays(sharing[0].Mark);
            foreach (var load in sharing)
            {
                await ScanRowsAsync(load, hasEntities: HasEntities(load) && !IsScanned(sharing), cancellationToken);
                await onRemoved(load);
            }
        }
        return _entities;
    }

    private static bool HasEntities(LoadRemoval load) => load is { Mark: > 0, SharesMark: false };

    // The rows that name the entities are purged.
    private static bool IsScanned(List<LoadRemoval> sharing) => sharing.Exists(load => load.RowsPurged && HasEntities(load));

    private static long AccountsOf(List<LoadRemoval> sharing) =>
        sharing.Where(HasEntities).Sum(load => IsScanned(sharing) ? load.Last : Math.Max(load.Last - load.First + 1, 0));

    // A chunk's rows are deleted after its accounts are done, so that an interrupted run resumes there.
    private async Task ScanRowsAsync(LoadRemoval load, bool hasEntities, CancellationToken cancellationToken)
    {
        var chunk = new AccountBatch(rowsAtOnce);
        for (var first = load.First; first <= load.Last; first += rowsAtOnce)
        {
            var last = Math.Min(first + rowsAtOnce - 1, load.Last);
            if (hasEntities)
            {
                await database.ReadRowsAsync(load.Load, first, last, chunk, cancellationToken);
                foreach (var layout in _layouts)
                    await RemoveAsync(load, chunk, layout, cancellationToken);
            }
            await database.DeleteRowsUpToAsync(load.Load, last, cancellationToken);
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
            .Select(chunk.ToAccount)
            .GroupBy(placement.Find, account => account.Alias)
            .SelectMany(place => place.Order(StringComparer.Ordinal).Chunk(PartitionAccounts).Select(aliases => (place.Key, aliases)))
            .OrderByDescending(accounts => accounts.aliases.Length);

    private static IEnumerable<(string Partition, string[] Rows)> ByHash(AccountBatch chunk) =>
        Enumerable.Range(0, chunk.Count)
            .Select(i => RangeKeys.Of(chunk.Alias(i), chunk.Domain(i)))
            .GroupBy(key => key.Partition, key => key.Row)
            .Select(partition => (partition.Key, partition.ToArray()));

    // The progress is recorded with the first of the loads that share the mark.
    private async Task ScanTableAsync(List<LoadRemoval> sharing, CancellationToken cancellationToken)
    {
        var recorded = sharing.Find(load => load.Token is not null) ?? sharing[0];
        var scan = TableScan.Parse(recorded.Token);
        var before = _done;
        var parallel = TablePart.InParallel(upsert.Value, cancellationToken);
        var parts =
            from layout in _layouts
            from part in TablePart.Of(layout.Facts, layout.WritesRanges)
            select (layout, part);
        await Parallel.ForEachAsync(parts, parallel, async (one, token) =>
        {
            var (layout, part) = one;
            while (!scan.IsDone(part))
            {
                var page = await Retry.ExecuteAsync(
                    async stop => await part.RemoveMarkAsync(tables, recorded.Mark, scan.Token(part), stop), token);
                if (!part.OfRanges && IsFirst(layout.Facts))
                {
                    Interlocked.Add(ref _entities, page.Changed);
                    Report(page.Changed);
                }
                await scan.MoveToAsync(
                    part, page.Token, (text, stop) => database.SetRemovalTokenAsync(recorded.Load, text, stop), token);
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
        EventIds.RemoveBreachMarkStays, LogLevel.Warning, "removal: mark {Mark} kept on the accounts because another load has it")]
    private partial void LogMarkStays(int mark);

    [LoggerMessage(EventIds.RemoveBreachPaused, LogLevel.Information, "removal: paused for {Pause}: {Reason}")]
    private partial void LogPaused(string reason, TimeSpan pause);
}
