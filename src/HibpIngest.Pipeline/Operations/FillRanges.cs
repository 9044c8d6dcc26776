using System.Text;
using System.Text.Json;
using HibpIngest.Errors;
using HibpIngest.Stores;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Pipeline;

/// <summary>
/// Writes the hashes of all accounts that are in the account table, beside running loads, and turns ranges on.
/// From its first step on every slice writes hashes itself; what was written before that is found by a walk over
/// the table. Its key is the layout: run again it goes on where it was, run beside itself it does no harm.
/// </summary>
public sealed partial class FillRanges(
    StoreSetup setup, ILayouts layouts, ILayoutRegister register, INamedLocks locks, ILoads loads, IDatabaseSetup database,
    IAccountPages accounts, IRangeTable ranges, PipelineOptions options, TimeProvider time, ILogger<FillRanges> log,
    int chunkRows = FillRanges.ChunkRows)
{
    /// <summary>
    /// Rows of a part that are gathered before they are written: 80 or so for each partition of hashes, so that
    /// transactions are full; some 4 MB, for each part that is walked at once.
    /// </summary>
    public const int ChunkRows = 20_000;

    private const string LockName = "fill-ranges";

    // A part of the table has so many requests in flight, more or less.
    private const int RequestsAPart = 4;

    // Short enough that a fill whose process died is gone on with after a minute.
    private static readonly TimeSpan LockLease = TimeSpan.FromMinutes(1);

    private readonly string _owner = LoadLeases.NewOwner();
    private IProgress<FillProgress>? _progress;
    private long _accounts;

    /// <summary>Returns how many accounts it has written; 0 where ranges are on already.</summary>
    /// <exception cref="NotPossibleException">Another fill is at work.</exception>
    public async Task<long> RunAsync(IProgress<FillProgress>? progress, CancellationToken cancellationToken)
    {
        _progress = progress;
        // A store that was upgraded has no layout before its first host has started.
        await ranges.CreateAsync(cancellationToken);
        await setup.EnsureLayoutsAsync(cancellationToken);
        var layout = (await layouts.GetLayoutsAsync(cancellationToken)).Layouts[0];
        if (layout.Ranges == RangesState.On)
            return 0;
        if (!await locks.TryLockAsync(LockName, _owner, LockLease, cancellationToken))
        {
            throw new NotPossibleException("another 'hibp ranges fill' is at work; one whose process has died is gone on with a minute "
                + "after that: run it again then");
        }
        using var ended = new CancellationTokenSource();
        var renewing = RenewAsync(ended.Token);
        try
        {
            // The database first: no slice that is done behind this is without its hashes.
            await RaiseAsync(layout, RangesState.Filling, cancellationToken);
            await FillAsync(layout.Id, cancellationToken);
            await RaiseAsync(layout, RangesState.On, cancellationToken);
            LogOn(layout.Id, _accounts);
            return _accounts;
        }
        finally
        {
            await ended.CancelAsync();
            await renewing;
            await StageRunner.IgnoreUnavailableAsync(() => locks.UnlockAsync(LockName, _owner, CancellationToken.None));
        }
    }

    private async Task RaiseAsync(StoreLayout layout, RangesState state, CancellationToken cancellationToken)
    {
        await layouts.RaiseRangesAsync(layout.Id, state, cancellationToken);
        await register.PutLayoutAsync(layout with { Ranges = state }, cancellationToken);
    }

    private async Task FillAsync(int layout, CancellationToken cancellationToken)
    {
        // What is dead now is added to no range. What dies under way may be, from a page that was read before.
        var dead = await FindDeadAsync(cancellationToken);
        var recorded = await layouts.GetFillAsync(layout, cancellationToken);
        var fill = recorded is null ? new Fill(null, [.. dead]) : JsonSerializer.Deserialize<Fill>(recorded)!;
        var walk = TableWalk.Parse(fill.Walk, IAccountTable.Parts);
        using var recording = new SemaphoreSlim(1);
        await RecordAsync(() => { }, cancellationToken); // before anything is written
        LogBegun(layout, walk.PartsDone, IAccountTable.Parts);
        Report(walk.PartsDone);

        var atOnce = AtOnce(Math.Max(options.TransactionsInFlight / RequestsAPart, 1), cancellationToken);
        await Parallel.ForAsync(0, IAccountTable.Parts, atOnce, async (part, token) =>
        {
            while (!walk.IsDone(part))
            {
                var (rows, next) = await GatherAsync(part, walk.Token(part), dead, token);
                await WriteAsync(rows, token);
                await RecordAsync(() => walk.MoveTo(part, next), token);
                Report(walk.PartsDone);
            }
        });

        foreach (var mark in (await FindDeadAsync(cancellationToken)).Except(fill.Dead))
        {
            LogRemoved(mark);
            await Parallel.ForAsync(0, IRangeTable.Parts, atOnce, async (part, token) => await RemoveAsync(mark, part, token));
        }

        async Task RecordAsync(Action move, CancellationToken token)
        {
            await recording.WaitAsync(token);
            try
            {
                move();
                await layouts.SetFillAsync(layout, JsonSerializer.Serialize(fill with { Walk = walk.ToString() }), token);
            }
            finally
            {
                recording.Release();
            }
        }
    }

    /// <summary>Marks that no load has, or one that is being removed: nothing is to be written under them any more.</summary>
    private async Task<HashSet<int>> FindDeadAsync(CancellationToken cancellationToken)
    {
        // In this order: a mark that is given in between is none of them.
        var highest = (await database.GetHighestIdsAsync(cancellationToken)).Mark;
        var alive = (await loads.ListLoadsAsync(null, cancellationToken)).Where(load => !load.Removing).Select(load => load.Mark);
        return [.. Enumerable.Range(1, highest).Except(alive)];
    }

    /// <summary>The next rows of a part, by the partition of their hash, and where what comes behind them begins.</summary>
    private async Task<(Dictionary<string, List<MarkedRow>> Rows, string? Next)> GatherAsync(
        int part, string? token, HashSet<int> dead, CancellationToken cancellationToken)
    {
        var gathered = new Dictionary<string, List<MarkedRow>>();
        var count = 0;
        do
        {
            var page = await Patience.CallAsync(
                () => accounts.ReadPageAsync(part, token, cancellationToken), LogPaused, time, cancellationToken);
            foreach (var (domain, row) in page.Rows)
            {
                int[] marks = [.. row.Marks.Where(mark => !dead.Contains(mark))];
                if (marks.Length == 0)
                    continue;
                var key = RangeKeys.Of(Encoding.ASCII.GetBytes(row.Key), Encoding.ASCII.GetBytes(domain));
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

    private async Task WriteAsync(Dictionary<string, List<MarkedRow>> gathered, CancellationToken cancellationToken)
    {
        var transactions =
            from partition in gathered
            // A token that the service takes no longer begins its part anew: a row may come twice.
            from rows in partition.Value.DistinctBy(row => (row.Key, row.Row)).Chunk(IAccountTable.MaxTransactionEntities)
            select (Partition: partition.Key, Rows: rows);
        await Parallel.ForEachAsync(transactions, AtOnce(RequestsAPart, cancellationToken), async (transaction, token) =>
        {
            await Patience.CallAsync(
                async () =>
                {
                    await ranges.FillAsync(transaction.Partition, transaction.Rows, token);
                    return true;
                },
                LogPaused, time, token);
        });
        Interlocked.Add(ref _accounts, gathered.Values.Sum(rows => rows.Select(row => row.Key).Distinct().Count()));
    }

    private async Task RemoveAsync(int mark, int part, CancellationToken cancellationToken)
    {
        string? token = null;
        do
        {
            var page = await Patience.CallAsync(
                () => ranges.RemoveMarkAsync(mark, part, token, cancellationToken), LogPaused, time, cancellationToken);
            token = page.Token;
        }
        while (token is not null);
    }

    /// <summary>Keeps the lock, which is for whoever would do the same work twice: losing it does no harm.</summary>
    private async Task RenewAsync(CancellationToken ended)
    {
        using var timer = new PeriodicTimer(LockLease / 3, time);
        try
        {
            while (await timer.WaitForNextTickAsync(ended))
                await StageRunner.IgnoreUnavailableAsync(() => locks.TryLockAsync(LockName, _owner, LockLease, ended));
        }
        catch (OperationCanceledException) when (ended.IsCancellationRequested)
        {
            // The fill has ended.
        }
    }

    private void Report(int partsDone) =>
        _progress?.Report(new FillProgress(Interlocked.Read(ref _accounts), partsDone, IAccountTable.Parts));

    private static ParallelOptions AtOnce(int most, CancellationToken cancellationToken) =>
        new() { MaxDegreeOfParallelism = most, CancellationToken = cancellationToken };

    /// <summary>What is recorded of a fill.</summary>
    /// <param name="Walk">How far the account table has been walked.</param>
    /// <param name="Dead">Marks that were dead when it began: no page that it has read since brings them.</param>
    private sealed record Fill(string? Walk, int[] Dead);
}
