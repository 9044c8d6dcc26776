using System.Diagnostics;
using System.Globalization;
using HibpIngest.Cli.Samples;
using HibpIngest.Delivery;
using HibpIngest.Hosting;
using HibpIngest.Pipeline.Settings;
using HibpIngest.Pipeline.Upsert;
using HibpIngest.Storage.Azure;
using HibpIngest.Storage.Sql.Sqlite;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures what ranges cost: the same slices of the same rows, with and without ranges by turns, into a table server
/// that only responds; and the SHA-1 of an account as a slice computes it.
/// </summary>
internal static class RangesBenchmark
{
    public const double MaxTimes = 2.2;
    public const double MaxNanoseconds = 600;

    private const int SlicesEachTime = 4;

    /// <summary>Runs the benchmark, and prints the figures.</summary>
    public static async Task<RangesResult> RunAsync(int accounts, int pairs, string folder)
    {
        var zip = Path.Combine(folder, "Ranges.zip");
        using (var output = File.Create(zip))
            SampleBreach.Write(output, new SampleOptions { Accounts = accounts, Seed = 1 }, CancellationToken.None);
        var batches = await CopyBenchmark.ReadAsync(zip, accounts);
        var (nanoseconds, bytes) = MeasureHash(batches[0], pairs);

        await using var server = await AnsweringTableServer.StartAsync();
        await using var off = await StoreAsync(RangesState.Off);
        await using var on = await StoreAsync(RangesState.On);
        await RunSlicesAsync(off);
        await RunSlicesAsync(on);
        var ratios = new List<(double Off, double On)>();
        for (var i = 0; i < pairs; i++)
        {
            // The two take turns at being first.
            var (first, second) = i % 2 == 0 ? (off, on) : (on, off);
            var (one, other) = (await RunSlicesAsync(first), await RunSlicesAsync(second));
            ratios.Add(i % 2 == 0 ? (one, other) : (other, one));
            Console.Error.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"{i + 1}/{pairs}: a slice takes {ratios[^1].Off:F1} ms without ranges, {ratios[^1].On:F1} ms with them"));
        }

        var times = ratios.Select(pair => pair.On / pair.Off).Order().ToList();
        var result = new RangesResult(Median(times), nanoseconds, bytes);
        var (withoutThem, withThem) = (Median(ratios.Select(pair => pair.Off)), Median(ratios.Select(pair => pair.On)));
        var row = string.Create(
            CultureInfo.InvariantCulture,
            $"| slice of {new IngestOptions().SliceRows:N0}, ms | {withoutThem:F1} | {withThem:F1} |");
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"""
            | | off | on | on / off, median of {pairs} pairs | lowest-highest |
            | --- | ---: | ---: | ---: | ---: |
            {row} {result.Times:F2} | {times[0]:F2}-{times[^1]:F2} |

            SHA-1: {nanoseconds:F0} ns an account at the least, {bytes} bytes allocated
            """));
        return result;

        async Task<Store> StoreAsync(RangesState state)
        {
            var database = SqliteBreachDatabase.Open(Path.Combine(folder, $"ranges-{state}.db"), TimeProvider.System);
            await database.UpgradeAsync(CancellationToken.None);
            await database.AddFirstLayoutAsync(new StoreLayout { Id = 1, Ranges = state }, filled: false, CancellationToken.None);
            var load = await BenchmarkLoad.StartAsync(database);
            await using (var copy = await BenchmarkLoad.OpenCopyAsync(database, load))
            {
                foreach (var batch in batches)
                    await copy.CommitAsync(batch, new LoadCheckpoint(), false, CancellationToken.None);
            }
            var account = StorageAccount.Open(ThrottleBenchmark.Connection(server.Endpoint), NullLoggerFactory.Instance);
            var context = PipelineParts.Of(
                account, database, NotificationSenders.Create($"pickup:{folder}/mail"), new TestOptions(), NullLoggerFactory.Instance);
            var slices = await database.ListSlicesAsync(load.Id, failedOnly: false, CancellationToken.None);
            return new Store(database, account, context.Get<UpsertSlice>(), [.. slices.Take(SlicesEachTime)]);
        }
    }

    /// <summary>Returns milliseconds per slice, run one after another.</summary>
    private static async Task<double> RunSlicesAsync(Store store)
    {
        await store.Database.RequeueSlicesAsync(store.Slices[0].Load, null, failedOnly: false, CancellationToken.None);
        var began = Stopwatch.GetTimestamp();
        foreach (var slice in store.Slices)
            await store.Stage.RunAsync(slice.Load, slice.Number);
        return Stopwatch.GetElapsedTime(began).TotalMilliseconds / store.Slices.Count;
    }

    private static (double Nanoseconds, long Bytes) MeasureHash(AccountBatch accounts, int times)
    {
        // Samples of a millisecond, so that some run without interference from another process.
        var count = Math.Min(accounts.Count, 2_000);
        var row = new byte[AccountHash.RowDigits];
        // Until tiered compilation has finished, as in a running host.
        for (var began = Stopwatch.GetTimestamp(); Stopwatch.GetElapsedTime(began) < TimeSpan.FromSeconds(1);)
            Hash();
        var bytes = GC.GetAllocatedBytesForCurrentThread();
        Hash();
        bytes = GC.GetAllocatedBytesForCurrentThread() - bytes;
        var measured = Enumerable.Range(0, Math.Max(times, 3) * 30).Select(_ =>
        {
            var began = Stopwatch.GetTimestamp();
            Hash();
            return Stopwatch.GetElapsedTime(began).TotalNanoseconds / count;
        });
        // The least: any excess is due to other processes.
        return (measured.Min(), bytes);

        void Hash()
        {
            for (var i = 0; i < count; i++)
                AccountHash.Write(accounts.Alias(i), accounts.Domain(i), row);
        }
    }

    private static double Median(IEnumerable<double> values)
    {
        var sorted = values.Order().ToList();
        return (sorted[(sorted.Count - 1) / 2] + sorted[sorted.Count / 2]) / 2;
    }

    private sealed record Store(SqliteBreachDatabase Database, StorageAccount Account, UpsertSlice Stage, IReadOnlyList<Slice> Slices)
        : IAsyncDisposable
    {
        public async ValueTask DisposeAsync()
        {
            Account.Dispose();
            await Database.DisposeAsync();
        }
    }
}

/// <summary>The cost of ranges.</summary>
/// <param name="Times">A slice's time, as a multiple of the time without ranges.</param>
/// <param name="Nanoseconds">Time per SHA-1.</param>
/// <param name="Bytes">Bytes allocated for a batch of hashes.</param>
internal sealed record RangesResult(double Times, double Nanoseconds, long Bytes)
{
    /// <summary>Whether the requirements are met.</summary>
    public bool Holds => Times <= RangesBenchmark.MaxTimes && Nanoseconds <= RangesBenchmark.MaxNanoseconds && Bytes == 0;
}
