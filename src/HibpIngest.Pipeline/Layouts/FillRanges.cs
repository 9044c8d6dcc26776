using System.Text.Json;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Pipeline.Upsert;
using Polly;

namespace HibpIngest.Pipeline.Layouts;

/// <summary>
/// Backfills the hashes of all accounts in the account table while loads are running, and turns ranges on. From its first step on, slices
/// write hashes themselves; earlier accounts are found by a walk over the table. Idempotency key: the layout. Another run resumes from the
/// checkpoint.
/// </summary>
public sealed partial class FillRanges(
    StoreSetup setup, ILayouts layouts, ILayoutRegister register, IDatabaseState database, RetiredMarks retiredMarks,
    IStoreTables tables, IOptions<UpsertOptions> options, TimeProvider time, ILogger<FillRanges> log,
    int chunkRows = FillRanges.ChunkRows)
{
    /// <summary>Rows gathered before they are written: about 80 for each partition of hashes, some 4 MB for each part.</summary>
    public const int ChunkRows = 20_000;

    /// <summary>Also taken by a rebuild: accounts written where the walk has already been would have no hashes.</summary>
    internal const string LockName = "fill-ranges";

    private IProgress<FillProgress>? _progress;
    private long _accounts;

    /// <summary>Runs the backfill. Returns the number of accounts written; 0 if ranges are on already.</summary>
    /// <param name="name">Name of the layout; null: the one that is read.</param>
    /// <exception cref="NotPossibleException">There is no such layout, or another backfill or rebuild is running.</exception>
    public async Task<long> RunAsync(string? name, IProgress<FillProgress>? progress, CancellationToken cancellationToken)
    {
        _progress = progress;
        // An upgraded store has no layout before its first host has started.
        await setup.EnsureLayoutsAsync(cancellationToken);
        var layout = await FindAsync(name, cancellationToken);
        if (layout.Ranges == RangesState.On)
            return 0;
        return await RenewingLock.RunAsync(
            database, LockName,
            "another 'hibp ranges fill' or 'hibp layout rebuild' is running; if its process has died, run this again a minute "
                + "later to resume it",
            time,
            async token =>
            {
                // The database first: every slice done after this has its hashes, and no rebuild without hashes can end.
                await RaiseAsync(layout, RangesState.Filling, token);
                await FillAsync(layout, token);
                await RaiseAsync(layout, RangesState.On, token);
                LogOn(layout.Id, _accounts);
                return _accounts;
            },
            cancellationToken);
    }

    private async Task RaiseAsync(StoreLayout layout, RangesState state, CancellationToken cancellationToken)
    {
        await layouts.RaiseRangesAsync(layout.Id, state, cancellationToken);
        await register.PutLayoutAsync(layout with { Ranges = state }, cancellationToken);
    }

    private async Task<StoreLayout> FindAsync(string? name, CancellationToken cancellationToken)
    {
        var read = (await register.GetReadLayoutAsync(cancellationToken))?.Id;
        var set = (await layouts.GetLayoutsAsync(cancellationToken)).Layouts;
        return set.FirstOrDefault(layout => name is null ? layout.Id == read : layout.Name == name)
            ?? throw new NotPossibleException(
                $"{(name is null ? "the layout that is read" : $"layout {name}")} is not written; expected one of "
                + $"{string.Join(", ", set.Select(layout => layout.Name))}");
    }

    private async Task FillAsync(StoreLayout layout, CancellationToken cancellationToken)
    {
        var placement = new LayoutPlacement(layout.Facts);
        // Marks retired by now are not added. A mark retired from here on may be, from a page that was read before.
        var retired = await retiredMarks.FindAsync(cancellationToken);
        var recorded = await layouts.GetFillAsync(layout.Id, cancellationToken);
        var fill = recorded is null ? new Fill(null, [.. retired]) : JsonSerializer.Deserialize<Fill>(recorded)!;
        var walk = TableWalk.Parse(fill.Walk);
        var parts = TablePart.OfAccounts(layout.Facts);
        await RecordAsync(walk.ToString(), cancellationToken); // before anything is written
        LogStarted(layout.Id, walk.PartsDone, parts.Count);
        Report();

        var atOnce = TablePart.InParallel(options.Value, cancellationToken);
        await Parallel.ForEachAsync(parts, atOnce, async (part, token) =>
        {
            while (!walk.IsDone(part))
            {
                var (rows, next) = await GatherAsync(part, walk.Token(part), retired, token);
                await WriteAsync(layout.Facts, placement, rows, token);
                await walk.MoveToAsync(part, next, RecordAsync, token);
                Report();
            }
        });

        foreach (var mark in (await retiredMarks.FindAsync(cancellationToken)).Except(fill.Dead))
        {
            LogRemoved(mark);
            await Parallel.ForEachAsync(
                TablePart.OfHashes(layout.Facts), atOnce, async (part, token) =>
                    await retiredMarks.RemoveAsync(mark, part, Retry, token));
        }

        void Report() => _progress?.Report(new FillProgress(Interlocked.Read(ref _accounts), walk.PartsDone, parts.Count));

        Task RecordAsync(string recordedWalk, CancellationToken token) =>
            layouts.SetFillAsync(layout.Id, JsonSerializer.Serialize(fill with { Walk = recordedWalk }), token);
    }

    /// <summary>Reads the next rows of a part, grouped by the partition of their hash. Returns the token of the rest too.</summary>
    private async Task<(Dictionary<string, List<MarkedRow>> Rows, string? Next)> GatherAsync(
        TablePart part, string? token, HashSet<int> retired, CancellationToken cancellationToken)
    {
        var accounts = tables.Accounts(part.Place);
        var gathered = new Dictionary<string, List<MarkedRow>>();
        var count = 0;
        do
        {
            var page = await Retry.ExecuteAsync(async stop => await accounts.ReadPageAsync(part.Number, token, stop), cancellationToken);
            foreach (var (partition, row) in page.Rows)
            {
                int[] marks = [.. row.Marks.Where(mark => !retired.Contains(mark))];
                if (marks.Length == 0)
                    continue;
                var key = RangeKeys.Of(Encoding.ASCII.GetBytes(row.Key), Encoding.ASCII.GetBytes(LayoutPlacement.DomainOf(partition)));
                if (!gathered.TryGetValue(key.Partition, out var rows))
                    gathered.Add(key.Partition, rows = []);
                rows.Add(new MarkedRow(key.Row, row.Row, marks));
                count++;
            }
            token = page.Token;
        }
        while (token is not null && count < chunkRows);
        return (gathered, token);
    }

    private async Task WriteAsync(
        LayoutFacts facts, LayoutPlacement placement, Dictionary<string, List<MarkedRow>> gathered, CancellationToken cancellationToken)
    {
        // If the service rejects a token, the walk of its part starts over, so a row may come twice.
        var transactions =
            from partition in gathered
            from rows in partition.Value.DistinctBy(row => (row.Key, row.Row)).Chunk(IAccountTable.MaxTransactionEntities)
            select (Partition: partition.Key, Rows: rows);
        var atOnce = Parallelism.Of(TablePart.RequestsInFlight, cancellationToken);
        await Parallel.ForEachAsync(transactions, atOnce, async (transaction, token) =>
        {
            var ranges = tables.Ranges(RangeKeys.PlaceOf(transaction.Partition, facts, placement));
            var (partition, rows) = (Encoding.ASCII.GetBytes(transaction.Partition), MarkedRows.Of(transaction.Rows));
            await Retry.ExecuteAsync(async stop => await ranges.MergeAsync(partition, rows, stop), token);
        });
        Interlocked.Add(ref _accounts, gathered.Values.Sum(rows => rows.Select(row => row.Key).Distinct().Count()));
    }

    /// <param name="Dead">Marks that were retired when it began: no page read since can contain them.</param>
    private sealed record Fill(string? Walk, int[] Dead);

    private ResiliencePipeline Retry => field ??= TableRetry.Create(LogPaused, time);

    [LoggerMessage(
        EventIds.FillRangesBegun, LogLevel.Information,
        "ranges of layout {Layout}: backfill started ({Done} of {Parts} parts of the account table done)")]
    private partial void LogStarted(int layout, int done, int parts);

    [LoggerMessage(
        EventIds.FillRangesRemoved, LogLevel.Information, "mark {Mark}: removed during the backfill of ranges, taken off the ranges")]
    private partial void LogRemoved(int mark);

    [LoggerMessage(
        EventIds.FillRangesOn, LogLevel.Information,
        "ranges of layout {Layout}: backfill complete, ranges on ({Accounts} accounts written)")]
    private partial void LogOn(int layout, long accounts);

    [LoggerMessage(EventIds.FillRangesPaused, LogLevel.Information, "ranges: backfill paused for {Pause}: {Reason}")]
    private partial void LogPaused(string reason, TimeSpan pause);
}

/// <param name="Accounts">Number of accounts that this run has written.</param>
/// <param name="PartsDone">Number of parts of the account table that are complete, in this run or an earlier one.</param>
public sealed record FillProgress(long Accounts, int PartsDone, int Parts);
