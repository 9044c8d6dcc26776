using HibpIngest.Cli.Samples;
using HibpIngest.Delivery;
using HibpIngest.Pipeline.Settings;
using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures what ranges cost: the same slices of the same rows, with and without ranges by turns, into a table server
/// that only responds; and the SHA-1 of an account as a slice computes it.
/// </summary>
internal static class RangesBenchmark
{
    private const double MaxTimes = 2.2;
    private const double MaxNanoseconds = 600;

    private const int SlicesEachTime = 4;

    /// <summary>Prints the figures; returns whether the requirements are met.</summary>
    public static async Task<bool> RunAsync(int accounts, int pairs, string folder)
    {
        var batches = PreparedLoad.SampleBatches(accounts).ToList();
        var (nanoseconds, bytes) = MeasureHash(batches[0], pairs);

        await using var server = await FakeTableServer.StartAsync();
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
            Console.Error.WriteLine(
                $"{i + 1}/{pairs}: a slice takes {ratios[^1].Off:F1} ms without ranges, {ratios[^1].On:F1} ms with them");
        }

        var times = ratios.Select(pair => pair.On / pair.Off).Order().ToList();
        var ratio = times.Median();
        var (without, with) = (ratios.Select(pair => pair.Off).Median(), ratios.Select(pair => pair.On).Median());
        Console.WriteLine($"""
            | | off | on | on / off, median of {pairs} pairs | lowest-highest |
            | --- | ---: | ---: | ---: | ---: |
            | slice of {new IngestOptions().SliceRows:N0}, ms | {without:F1} | {with:F1} | {ratio:F2} | {times[0]:F2}-{times[^1]:F2} |

            SHA-1: {nanoseconds:F0} ns an account at the least, {bytes} bytes allocated
            """);
        return ratio <= MaxTimes && nanoseconds <= MaxNanoseconds && bytes == 0;

        async Task<Store> StoreAsync(RangesState state)
        {
            var database = SqliteBreachDatabase.Open(Path.Combine(folder, $"ranges-{state}.db"), TimeProvider.System);
            await database.UpgradeAsync(CancellationToken.None);
            await database.AddFirstLayoutAsync(new StoreLayout { Id = 1, Ranges = state }, isFromRegister: false, CancellationToken.None);
            var load = await PreparedLoad.CopyAsync(database, batches);
            var account = StorageAccount.Open(ConnectionStrings.Of(server.Endpoint), NullLoggerFactory.Instance);
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
            await store.Stage.RunAsync(slice);
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
