using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using HibpIngest.Delivery;
using HibpIngest.Hosting;
using HibpIngest.Pipeline.Settings;
using HibpIngest.Pipeline.Upsert;
using HibpIngest.Storage.Azure;
using HibpIngest.Storage.Sql.Sqlite;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Runs the upsert stage against a <see cref="ThrottlingTableServer"/>: many slices in flight, in independent
/// processes (each with a storage account client and a database object of its own), a third of the rows in one
/// domain.
/// </summary>
internal sealed class ThrottleBenchmark(string folder)
{
    /// <summary>Slices that the Functions host and the local host process at once.</summary>
    private const int SlicesOfAProcess = 24;

    private static readonly TimeSpan TellEvery = TimeSpan.FromSeconds(5);

    private const double LeastRate = 0.85;
    private const double MaxWritten = 1.05;

    /// <summary>Prints the table; returns false if a requirement is missed.</summary>
    /// <param name="scale">Multiplies the slices.</param>
    /// <param name="only">Only this number in flight; null: all.</param>
    public async Task<bool> RunAsync(int scale, int? only = null)
    {
        Console.WriteLine("| slices in flight | processes | refusals | slices x rows | s | bound s | of the permitted rate | refused | "
            + "written / entities | put off |");
        Console.WriteLine("| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        var within = true;
        // Warm-up: a process's first run is slower.
        await MeasureAsync(inFlight: 2, slices: 4, sliceRows: 2_000, new TableLimits());
        foreach (var (inFlight, slices, rows) in new[] { (1, 15, 10_000), (24, 48, 10_000), (240, 240, 4_000) }.Where(
            row => only is null || row.Item1 == only))
        {
            foreach (var (name, delay) in new[] { ("immediate", TimeSpan.Zero), ("after 500 ms", TimeSpan.FromMilliseconds(500)) })
            {
                var result = await MeasureAsync(inFlight, slices * scale, rows, new TableLimits { RefusalLatency = delay });
                Console.WriteLine(string.Create(
                    CultureInfo.InvariantCulture,
                    $"| {inFlight} | {Processes(inFlight)} | {name} | {slices * scale} x {rows:N0} | {result.Seconds:F1} | "
                    + $"{result.Bound:F1} | {result.Rate:P1} | {result.Refused:P1} | {result.Written:F3} | {result.PutOff} |"));
                within &= result.Rate >= LeastRate && result.Refused < (Processes(inFlight) > 1 ? 0.2 : 0.1)
                    && result.Written <= MaxWritten && result.PutOff == 0;
            }
        }
        return within;
    }

    /// <summary>Runs all slices of a load.</summary>
    public async Task<ThrottleResult> MeasureAsync(int inFlight, int slices, int sliceRows, TableLimits limits)
    {
        var file = Path.Combine(folder, $"{Guid.NewGuid():N}.db");
        var options = new TestOptions { Ingest = { SliceRows = sliceRows, BatchRows = 20_000 } };
        var rows = slices * sliceRows;
        await using var server = await ThrottlingTableServer.StartAsync(limits);
        await using var first = SqliteBreachDatabase.Open(file, TimeProvider.System);
        var load = await CopyAsync(first, rows, options.Ingest);
        var all = await first.ListSlicesAsync(load.Id, failedOnly: false, CancellationToken.None);
        var queue = new ConcurrentQueue<Slice>(all);
        var putOff = 0;

        var began = Stopwatch.GetTimestamp();
        var telling = new Timer(_ => Tell(server, Stopwatch.GetElapsedTime(began)), null, TellEvery, TellEvery);
        var processes = Processes(inFlight);
        await Task.WhenAll(Enumerable.Range(0, processes).Select(async _ =>
        {
            using var account = StorageAccount.Open(Connection(server.Endpoint), NullLoggerFactory.Instance);
            await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
            var stage = Context(account, database, options).Get<UpsertSlice>();
            await Task.WhenAll(Enumerable.Range(0, inFlight / processes).Select(_ => Task.Run(async () =>
            {
                while (queue.TryDequeue(out var slice))
                {
                    try
                    {
                        await stage.RunAsync(slice.Load, slice.Number);
                    }
                    catch (StoreUnavailableException)
                    {
                        Interlocked.Increment(ref putOff);
                        queue.Enqueue(slice);
                    }
                }
            })));
        }));
        var seconds = Stopwatch.GetElapsedTime(began).TotalSeconds;
        await telling.DisposeAsync();
        var done = await first.GetLoadAsync(load.Id, CancellationToken.None);
        if (done!.Slices.Done != slices || done.Entities != rows)
            throw new InvalidOperationException($"{done.Slices.Done} of {slices} slices are done, with {done.Entities} of {rows} entities");
        return new ThrottleResult(
            seconds, ThrottledRows.Bound(rows, limits), (double)server.Refusals / (server.Refusals + server.Transactions),
            (double)server.Accepted / rows, putOff);
    }

    /// <summary>Shows progress.</summary>
    private static void Tell(ThrottlingTableServer server, TimeSpan elapsed) => Console.Error.WriteLine(string.Create(
        CultureInfo.InvariantCulture,
        $"{elapsed.TotalSeconds:F0} s: {server.Accepted:N0} entities, {server.AcceptedHot:N0} of them in the hot partition; "
        + $"{server.Transactions:N0} writes done, {server.Refusals:N0} refused"));

    private static int Processes(int inFlight) => Math.Max(inFlight / SlicesOfAProcess, 1);

    /// <summary>Returns the connection string of a storage account with this table server.</summary>
    internal static string Connection(string server) => UpsertBenchmark.Redirect(
        $"DefaultEndpointsProtocol=http;AccountName=throttled;AccountKey={Convert.ToBase64String(new byte[64])};"
        + $"BlobEndpoint={server}/throttled;QueueEndpoint={server}/throttled", server);

    private PipelineParts Context(StorageAccount account, SqliteBreachDatabase database, TestOptions options) => PipelineParts.Of(
        account, database, NotificationSenders.Create($"pickup:{folder}/mail"), options, NullLoggerFactory.Instance);

    /// <summary>Makes a load of <see cref="ThrottledRows"/>.</summary>
    internal static async Task<Load> CopyAsync(SqliteBreachDatabase database, int rows, IngestOptions options)
    {
        await database.UpgradeAsync(CancellationToken.None);
        var load = await BenchmarkLoad.StartAsync(database, options);
        await using var copy = await BenchmarkLoad.OpenCopyAsync(database, load);
        var batch = new AccountBatch(options.BatchRows);
        for (var next = 0; next < rows;)
        {
            batch.Clear();
            batch.FirstPosition = next + 1;
            for (; !batch.IsFull && next < rows; next++)
            {
                var (alias, domain) = ThrottledRows.Account(next);
                batch.Add(alias, domain);
            }
            await copy.CommitAsync(batch, new LoadCheckpoint(), false, CancellationToken.None);
        }
        // The ingest isn't finished, so that matching doesn't start.
        return load;
    }
}

/// <summary>The result of a run.</summary>
/// <param name="Seconds">Duration.</param>
/// <param name="Bound">The least time that the limits allow.</param>
/// <param name="Refused">The share of writes that were refused.</param>
/// <param name="Written">Entities written per entity.</param>
/// <param name="PutOff">Deferred slices.</param>
internal sealed record ThrottleResult(double Seconds, double Bound, double Refused, double Written, int PutOff)
{
    public double Rate => Bound / Seconds;
}
