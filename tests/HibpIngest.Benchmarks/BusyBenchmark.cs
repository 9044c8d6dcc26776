using HibpIngest.Cli.Emulator;
using HibpIngest.Delivery;
using HibpIngest.Pipeline.Settings;
using HibpIngest.Pipeline.Upsert;
using HibpIngest.Storage.Azure.Connections;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Runs the upsert stage with as many slices in flight as the local host has, against an emulator that gets a tenth
/// of the time: with the number of transactions in flight that the throttle finds, and with fixed numbers.
/// </summary>
internal sealed class BusyBenchmark(string folder)
{
    private const int SlicesInFlight = 24;
    private const double Share = 0.1;
    private const double LeastOfBest = 0.8;

    /// <summary>The last one is what all slices together would have in flight by default.</summary>
    private static readonly int?[] Settings = [null, 2, 8, 32, 128, SlicesInFlight * new UpsertOptions().TransactionsInFlight];

    /// <summary>After this many failures a slice is given up: the setting overloads the emulator.</summary>
    private const int MaxFailures = 100;

    /// <summary>Prints the table; returns false if the throttle reaches less than 80% of the best fixed setting.</summary>
    /// <param name="accounts">Accounts upserted with each setting.</param>
    /// <param name="limit">The time limit of each setting.</param>
    public async Task<bool> RunAsync(int accounts, TimeSpan limit)
    {
        Console.WriteLine("| in flight | entities | s | entities/s | slices done | slices deferred | of the best fixed |");
        Console.WriteLine("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        // Warm-up: a process's first run is slower.
        await MeasureAsync(accounts: 1_000, inFlight: null, limit);
        var results = new List<(int? InFlight, BusyResult Result)>();
        foreach (var inFlight in Settings)
        {
            var result = await MeasureAsync(accounts, inFlight, limit);
            results.Add((inFlight, result));
            Console.Error.WriteLine($"{inFlight?.ToString() ?? "throttle"}: {result}");
        }
        var best = results.Where(one => one.InFlight is not null).Max(one => one.Result.Rate);
        foreach (var (inFlight, result) in results)
        {
            Console.WriteLine(
                $"| {inFlight?.ToString() ?? "as the throttle finds"} | {result.Entities:N0} | "
                + $"{result.Seconds:F0} | {result.Rate:N0} | {result.Done} of {result.Slices} | {result.Deferred} | "
                + $"{result.Rate / best:P0} |");
        }
        return results[0].Result.Rate >= LeastOfBest * best && results[0].Result.Done == results[0].Result.Slices;
    }

    /// <summary>Upserts this many accounts into an emulator of its own.</summary>
    public async Task<BusyResult> MeasureAsync(int accounts, int? inFlight, TimeSpan limit)
    {
        // So many slices that the maximum is in flight, and some wait.
        var options = new TestOptions { Ingest = { SliceRows = Math.Clamp(accounts / (SlicesInFlight + 6), 100, 10_000) } };
        await using var emulator = await AzuriteEmulator.StartAsync(new AzuriteOptions(), CancellationToken.None);
        await using var database = SqliteBreachDatabase.Open(Path.Combine(folder, $"{Guid.NewGuid():N}.db"), TimeProvider.System);
        await database.UpgradeAsync(CancellationToken.None);
        var load = await PreparedLoad.CopyAsync(database, ThrottledRows.Batches(accounts), options.Ingest);
        var slices = await database.ListSlicesAsync(load.Id, failedOnly: false, CancellationToken.None);
        using var account = StorageAccount.Open(
            emulator.ConnectionString, NullLoggerFactory.Instance, new StorageOptions { TransactionsInFlight = inFlight });
        await account.Table.CreateAsync(CancellationToken.None);
        var stage = PipelineParts.Of(
            account, database, NotificationSenders.Create($"pickup:{folder}/mail"), options, NullLoggerFactory.Instance).Get<UpsertSlice>();

        var queue = new ConcurrentQueue<Slice>(slices);
        var deferred = 0;
        using var stop = new CancellationTokenSource();
        var began = Stopwatch.GetTimestamp();
        double seconds;
        using (new SlowedProcess(emulator.ProcessId, Share))
        {
            stop.CancelAfter(limit);
            await Task.WhenAll(Enumerable.Range(0, SlicesInFlight).Select(_ => Task.Run(WorkAsync)));
            seconds = Stopwatch.GetElapsedTime(began).TotalSeconds;
        }
        var done = await database.GetLoadAsync(load.Id, CancellationToken.None);
        return new BusyResult(done!.Entities, seconds, done.Slices.Done, slices.Count, deferred);

        async Task WorkAsync()
        {
            while (!stop.IsCancellationRequested && Volatile.Read(ref deferred) < MaxFailures && queue.TryDequeue(out var slice))
            {
                try
                {
                    await stage.RunAsync(slice, stop.Token);
                }
                catch (OperationCanceledException) when (stop.IsCancellationRequested)
                {
                    // Out of time; the writes of unfinished slices aren't counted.
                }
                catch (UnavailableException)
                {
                    Interlocked.Increment(ref deferred);
                    queue.Enqueue(slice);
                }
            }
        }
    }
}

/// <summary>The result of a setting.</summary>
/// <param name="Entities">Entities of finished slices.</param>
/// <param name="Seconds">Duration.</param>
/// <param name="Done">Finished slices.</param>
/// <param name="Slices">All slices.</param>
/// <param name="Deferred">Slices that were deferred because the emulator didn't respond.</param>
internal sealed record BusyResult(long Entities, double Seconds, int Done, int Slices, int Deferred)
{
    public double Rate => Entities / Seconds;
}
