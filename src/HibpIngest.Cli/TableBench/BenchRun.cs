using System.Collections.Concurrent;
using HibpIngest.Storage.Azure.Tables;

namespace HibpIngest.Cli.TableBench;

/// <summary>Measures a table. Rows that were written are merged and read by later measurements.</summary>
internal sealed class BenchRun(MeasuredTable table, TimeProvider time)
{
    // A busy service refuses in no time: without a pause, refusals would use up the requests of a measurement.
    private static readonly TimeSpan ThrottledPause = TimeSpan.FromMilliseconds(100);

    private readonly Dictionary<(int Rows, int Partitions, int InFlight), RowBlock[]> _written = [];

    public async Task<IReadOnlyList<BenchResult>> MeasureAsync(
        BenchPlan plan, IProgress<BenchCell> progress, CancellationToken cancellationToken)
    {
        // Its own number of rows, so that nothing else reads what it writes.
        await MeasureAsync(
            new BenchCell(BenchOperation.Insert, 1, 0, plan.WarmUp) { MaxRequests = plan.WarmUp }, plan.Limit, cancellationToken);
        var results = new List<BenchResult>();
        foreach (var cell in plan.Cells)
        {
            progress.Report(cell);
            results.Add(await MeasureAsync(cell, plan.Limit, cancellationToken));
        }
        return results;
    }

    /// <exception cref="UnavailableException">No request was answered.</exception>
    public async Task<BenchResult> MeasureAsync(BenchCell cell, TimeSpan limit, CancellationToken cancellationToken)
    {
        var rows = RowsOf(cell);
        var written = new ConcurrentQueue<RowBlock>();
        var times = new ConcurrentQueue<double>();
        var (requests, throttled, failed, entities) = (0, 0, 0, 0L);
        HibpException? failure = null;
        var cpu = Environment.CpuUsage.TotalTime;
        var startedAt = time.GetTimestamp();
        await Task.WhenAll(Enumerable.Range(0, cell.InFlight).Select(_ => Task.Run(SendAsync, CancellationToken.None)));
        var elapsed = time.GetElapsedTime(startedAt);
        cpu = Environment.CpuUsage.TotalTime - cpu;
        if (failure is not null && times.IsEmpty && throttled == 0)
            throw failure;
        if (cell.Operation == BenchOperation.Insert)
            _written[(cell.Rows, cell.Partitions, cell.InFlight)] = [.. written];
        return new BenchResult(
            cell, Math.Min(requests, cell.MaxRequests), entities, throttled, failed, elapsed,
            Math.Min(cpu / elapsed / Environment.ProcessorCount, 1), BenchTimes.Of([.. times]));

        async Task SendAsync()
        {
            while (rows is not null && time.GetElapsedTime(startedAt) < limit)
            {
                var number = Interlocked.Increment(ref requests) - 1;
                if (number >= cell.MaxRequests)
                    break;
                var sent = rows(number);
                var sentAt = time.GetTimestamp();
                try
                {
                    if (await RequestAsync(cell.Operation, sent, number, cancellationToken) is { } found)
                    {
                        times.Enqueue(time.GetElapsedTime(sentAt).TotalMilliseconds);
                        written.Enqueue(sent);
                        Interlocked.Add(ref entities, found);
                        continue;
                    }
                    Interlocked.Increment(ref throttled);
                    await Task.Delay(ThrottledPause, time, cancellationToken);
                }
                catch (HibpException e)
                {
                    Interlocked.Increment(ref failed);
                    failure = e;
                }
            }
        }
    }

    private Task<int?> RequestAsync(BenchOperation operation, RowBlock rows, int number, CancellationToken cancellationToken) =>
        operation switch
        {
            BenchOperation.Insert => table.InsertAsync(rows, cancellationToken),
            BenchOperation.Merge => table.MergeAsync(rows, cancellationToken),
            BenchOperation.Read => table.ReadAsync(rows, number % rows.Rows, cancellationToken),
            _ => table.QueryAsync(rows, cancellationToken),
        };

    /// <returns>Null if the rows that the cell needs were not written.</returns>
    private Func<int, RowBlock>? RowsOf(BenchCell cell)
    {
        if (cell.Operation == BenchOperation.Insert)
        {
            return number => new RowBlock(
                cell.Partitions == 1 ? "one" : string.Create(CultureInfo.InvariantCulture, $"many{number % BenchPlan.Many:D2}"),
                string.Create(CultureInfo.InvariantCulture, $"{cell.Partitions:D2}-{cell.Rows:D3}-{cell.InFlight:D2}-{number:D6}-"),
                cell.Rows);
        }
        var written = cell.Operation == BenchOperation.Merge
            ? _written.GetValueOrDefault((cell.Rows, cell.Partitions, cell.InFlight)) ?? []
            : BenchPlan.InFlight.SelectMany(
                inFlight => _written.GetValueOrDefault((BenchPlan.MaxRows, cell.Partitions, inFlight)) ?? []).ToArray();
        return written.Length == 0 ? null : number => written[number % written.Length];
    }
}
