using HibpIngest.Journal.Merge;
using Polly;

namespace HibpIngest.Pipeline.Layouts;

/// <summary>
/// Writes what a layout lacks: the loads from before it was added, each account once with all its marks, from the journal, or from SQL's
/// rows if the journal doesn't have them (yet). Runs concurrently with loads, which write the layout themselves. Idempotent: another run
/// resumes after the last completed partition of the merge.
/// </summary>
public sealed partial class RebuildLayout(
    IBreachDatabase database, LayoutOperations operations, RebuildSources sourceFinder, LayoutChanges changes, IStoreTables tables,
    TimeProvider time, ILogger<RebuildLayout> logger)
{
    // Transactions in flight for each storage account and each of the two partitions of the merge that are written at a time. Together that
    // is what 20,000 entities a second, the target of a storage account, need at a quarter of a second and forty entities a transaction.
    // How many the service accepts is found out while writing.
    private const int InFlight = 64;

    private const int ReportEvery = 64;

    private IProgress<RebuildProgress>? _progress;
    private long _accounts;
    private long _transactions;

    /// <summary>Rebuilds a layout; afterwards it lacks nothing and can be switched to.</summary>
    /// <exception cref="BadInputException">The layout is invalid, or one of that name exists with other settings.</exception>
    /// <exception cref="NotPossibleException">Another rebuild or backfill is running, a load's rows are lost, or its slices are being
    /// written.</exception>
    /// <exception cref="DamagedSegmentException">A segment is damaged or missing.</exception>
    public async Task<RebuildResult> RunAsync(RebuildOrder order, IProgress<RebuildProgress>? progress, CancellationToken cancellationToken)
    {
        _progress = progress;
        await operations.EnsureAsync(cancellationToken);
        return await RenewingLock.RunAsync(
            database, FillRanges.LockName,
            "another 'hibp layout rebuild' or 'hibp ranges fill' is running; if its process has died, run this "
                + "again a minute later to resume it",
            time, token => RunLockedAsync(order, token), cancellationToken);
    }

    private async Task<RebuildResult> RunLockedAsync(RebuildOrder order, CancellationToken cancellationToken)
    {
        var layout = await FindAsync(order, cancellationToken) ?? await operations.AddAsync(order, cancellationToken);
        // Later ones are written to it as to the others.
        await changes.ApplyOptOutsAsync(layout, cancellationToken);
        var (written, rowsWritten, removed) = (new HashSet<LoadId>(), 0L, 0);
        while (true)
        {
            var before = Replay.Parse(await database.GetRebuildAsync(layout.Id, cancellationToken));
            var missing = await database.ListMissingAsync(layout.Id, cancellationToken);
            if (missing.Count == 0 && before is null)
                break;
            var sources = await sourceFinder.FindAsync(layout, missing, cancellationToken);
            var replay = Replay.Of(
                [.. sources.Select(source => new ReplayedLoad(source.Load.Value, source.Mark, source.Rows, source.IsJournaled))],
                order.MemoryBytes, layout.WritesRanges, before);
            if (sources.Count > 0)
                await ReplayAsync(layout, order, sources, replay, cancellationToken);
            if (await EndAsync(layout, sources, replay, cancellationToken) is not { } marks)
            {
                // This run had lost its lock, and another turned the layout's ranges on: they lack the hashes of accounts written since.
                layout = (await database.GetLayoutsAsync(cancellationToken)).Layouts.FirstOrDefault(one => one.Id == layout.Id)
                    ?? throw new NotPossibleException($"layout {layout.Name} was dropped during the rebuild");
                continue;
            }
            removed += marks;
            var isNew = false;
            foreach (var source in sources.Where(source => written.Add(source.Load)))
                (isNew, rowsWritten) = (true, rowsWritten + source.Rows);
            if (missing.Count > 0 && !isNew)
            {
                throw new NotPossibleException($"layout {layout.Name} is missing {missing.Sum(load => load.Rows)} rows, whose slices are "
                    + $"being written again: load {string.Join(", ", missing.Select(load => load.Load))}; run it again when they are done");
            }
        }
        LogDone(layout.Id, written.Count, rowsWritten, _accounts);
        return new RebuildResult(layout, written.Count, rowsWritten, _accounts, _transactions, removed);
    }

    private async Task<StoreLayout?> FindAsync(RebuildOrder order, CancellationToken cancellationToken)
    {
        var found = (await database.GetLayoutsAsync(cancellationToken)).Layouts.FirstOrDefault(layout => layout.Name == order.Name);
        if (found is null)
            return null;
        var wanted = found.Facts with
        {
            StorageAccounts = order.StorageAccounts ?? found.Facts.StorageAccounts,
            SpreadDomains = order.SpreadDomains ?? found.Facts.SpreadDomains,
        };
        if (wanted != found.Facts || (order.Ranges is { } ranges && ranges != found.WritesRanges))
        {
            throw new BadInputException($"layout {order.Name} already exists, with other storage accounts, spread domains or ranges (hibp "
                + "layout list shows them): leave these options out to resume it, or choose another name");
        }
        return found;
    }

    private async Task ReplayAsync(
        StoreLayout layout, RebuildOrder order, IReadOnlyList<RebuildSource> sources, Replay replay, CancellationToken cancellationToken)
    {
        await database.SetRebuildAsync(layout.Id, replay.ToJson(), cancellationToken); // before anything is written
        var all = sources.Sum(source => source.Rows);
        var (gate, read, partitions, before, part) = (new Lock(), 0L, 1, 0, 0d);
        // While one partition is sent, the next is prepared, and its transactions fill the gap that the last ones of the first leave.
        int[] marks = [.. sources.Select(source => source.Mark)];
        var (transactions, next) = (Transactions(), Transactions());
        LogStarted(layout.Id, sources.Count, all, replay.Done.Count);
        await new MergeAccounts(order.Folder, order.MemoryBytes / 2).RunAsync(
            [.. sources.Select(source => source.Merged)],
            partition =>
            {
                (transactions, next) = (next, transactions);
                transactions.Fill(partition);
                return WritePartitionAsync(transactions, partition.Number);
            },
            // The merge reports both of its passes together.
            new ImmediateProgress<long>(done => Report(() => read = Math.Min(all, 2 * done))),
            cancellationToken,
            count =>
            {
                replay.Begin(count);
                (partitions, before) = (count, replay.Done.Count);
                return partition => !replay.Done.Contains(partition);
            });

        MergedTransactions Transactions() => new(layout.Facts, marks, layout.WritesRanges);

        async Task WritePartitionAsync(MergedTransactions these, int number)
        {
            var written = 0d;
            await WriteAsync(
                layout.Facts, these,
                done => Report(() =>
                {
                    part += Math.Max(done - written, 0);
                    written = Math.Max(done, written);
                }),
                cancellationToken);
            string? recorded = null;
            Report(() =>
            {
                part -= written;
                replay.Done.Add(number);
                recorded = replay.ToJson();
            });
            await database.SetRebuildAsync(layout.Id, recorded, cancellationToken);
        }

        void Report(Action move)
        {
            lock (gate)
            {
                move();
                _progress?.Report(new RebuildProgress(
                    all, read, (replay.Done.Count + part) / partitions, (double)before / partitions, Interlocked.Read(ref _accounts)));
            }
        }
    }

    private async Task WriteAsync(
        LayoutFacts facts, MergedTransactions transactions, Action<double> report, CancellationToken cancellationToken)
    {
        var done = 0;
        var parallel = Parallelism.Of(InFlight * facts.StorageAccounts.Count, cancellationToken);
        await Parallel.ForAsync(0, transactions.Count, parallel, async (index, token) =>
        {
            using var transaction = transactions.Make(index);
            await Retry.ExecuteAsync(
                async stop => await (transaction.OfRanges
                    ? tables.Ranges(new TablePlace(transaction.StorageAccount, facts.RangesTable))
                        .MergeAsync(transaction.Partition, transaction.Rows, stop)
                    : tables.Accounts(new TablePlace(transaction.StorageAccount, facts.AccountsTable))
                        .MergeAsync(transaction.Partition, transaction.Rows, stop)),
                token);
            if (!transaction.OfRanges)
                Interlocked.Add(ref _accounts, transaction.Rows.Rows.Length);
            Interlocked.Increment(ref _transactions);
            if (Interlocked.Increment(ref done) is var so && so % ReportEvery == 0)
                report((double)so / transactions.Count);
        });
    }

    /// <summary>
    /// Removes marks that were retired during the rebuild, then records the loads as replayed. A later removal finds everything itself.
    /// </summary>
    /// <returns>Number of marks removed; null if the layout has ranges by now, so that rows written without hashes don't count.</returns>
    private async Task<int?> EndAsync(
        StoreLayout layout, IReadOnlyList<RebuildSource> sources, Replay replay, CancellationToken cancellationToken)
    {
        var retired = (await changes.FindRetiredAsync(cancellationToken)).Intersect(replay.Marks).ToList();
        foreach (var mark in retired)
        {
            LogRemoved(mark);
            var parallel = Parallelism.Of(4, cancellationToken);
            await Parallel.ForEachAsync(TablePart.Of(layout.Facts, withRanges: true), parallel, async (part, token) =>
                await changes.RemoveAsync(mark, part, Retry, token));
        }
        foreach (var source in sources)
        {
            if (!await database.SetBackfilledAsync(layout.Id, source.Load, source.Rows, layout.WritesRanges, cancellationToken))
                return null;
        }
        await database.SetRebuildAsync(layout.Id, null, cancellationToken);
        return retired.Count;
    }

    private ResiliencePipeline Retry => field ??= TableRetry.Create(LogPaused, time);

    [LoggerMessage(
        EventIds.RebuildBegun, LogLevel.Information,
        "layout {Layout}: rebuild started ({Loads} loads, {Rows} rows, {Done} of their partitions done)")]
    private partial void LogStarted(int layout, int loads, long rows, int done);

    [LoggerMessage(EventIds.RebuildRemoved, LogLevel.Information, "mark {Mark}: retired during its replay; removed from the layout")]
    private partial void LogRemoved(int mark);

    [LoggerMessage(
        EventIds.RebuildDone, LogLevel.Information,
        "layout {Layout}: rebuild complete ({Loads} loads, {Rows} rows, {Accounts} accounts written)")]
    private partial void LogDone(int layout, int loads, long rows, long accounts);

    [LoggerMessage(EventIds.RebuildPaused, LogLevel.Information, "rebuild: paused for {Pause}: {Reason}")]
    private partial void LogPaused(string reason, TimeSpan pause);
}

/// <summary>The checkpoint of a replay, from which an interrupted one resumes.</summary>
internal sealed record Replay
{
    public required IReadOnlyList<ReplayedLoad> Loads { get; init; }

    /// <summary>The memory limit, which determines the number of partitions.</summary>
    public required long MemoryBytes { get; init; }

    /// <summary>True if hashes are written too: partitions without them don't count once the layout has ranges.</summary>
    public bool Ranges { get; init; }

    /// <summary>Number of partitions of the merge; 0 if not known yet.</summary>
    public int Partitions { get; set; }

    public required SortedSet<int> Done { get; init; }

    /// <summary>Marks written since a replay last completed: those retired since must be removed.</summary>
    public required SortedSet<int> Marks { get; init; }

    public static Replay Of(IReadOnlyList<ReplayedLoad> loads, long memoryBytes, bool ranges, Replay? before)
    {
        if (before is not null && before.MemoryBytes == memoryBytes && before.Ranges == ranges && before.Loads.SequenceEqual(loads))
            return before;
        return new Replay
        {
            Loads = loads,
            MemoryBytes = memoryBytes,
            Ranges = ranges,
            Done = [],
            Marks = [.. loads.Select(load => load.Mark), .. before?.Marks ?? []],
        };
    }

    public static Replay? Parse(string? json) => json is null ? null : JsonSerializer.Deserialize<Replay>(json);

    public string ToJson() => JsonSerializer.Serialize(this);

    public void Begin(int partitions)
    {
        if (Partitions != partitions)
            Done.Clear();
        Partitions = partitions;
    }
}

internal sealed record ReplayedLoad(long Load, int Mark, long Rows, bool IsJournaled);
