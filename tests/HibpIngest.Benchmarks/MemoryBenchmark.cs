using HibpIngest.Cli.Emulator;
using HibpIngest.Cli.Samples;
using HibpIngest.Delivery;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures peak memory (VmHWM, counted by the kernel) of ingesting two breaches of different size into SQLite
/// without concurrent upserts, and of upserting all their slices against a table server that only responds. Each run
/// has a process of its own.
/// </summary>
internal static class MemoryBenchmark
{
    public static async Task<bool> RunAsync(long small, long large, string folder)
    {
        await using var answering = await FakeTableServer.StartAsync();
        var peaks = new Dictionary<(string Stage, long Accounts), (double Peak, double Set)>();
        foreach (var accounts in new[] { small, large })
        {
            await using var emulator = await AzuriteEmulator.StartAsync(
                new AzuriteOptions { DataFolder = Path.Combine(folder, $"azurite-{accounts}") }, CancellationToken.None);
            var connection = ConnectionStrings.WithTables(emulator.ConnectionString, answering.Endpoint);
            await UploadAsync(emulator.ConnectionString, accounts);
            foreach (var stage in new[] { "ingest", "upsert" })
                peaks[(stage, accounts)] = await RunChildAsync(
                    stage, stage == "ingest" ? emulator.ConnectionString : connection, Path.Combine(folder, $"memory-{accounts}.db"));
        }

        Console.WriteLine("| stage | accounts | peak MiB | dedupe set MiB | peak without it MiB |");
        Console.WriteLine("| --- | ---: | ---: | ---: | ---: |");
        foreach (var ((stage, accounts), (peak, set)) in peaks.OrderBy(one => one.Key.Stage).ThenBy(one => one.Key.Accounts))
            Console.WriteLine($"| {stage} | {accounts:N0} | {peak:N0} | {set:N0} | {peak - set:N0} |");
        var flat = true;
        foreach (var stage in new[] { "ingest", "upsert" })
        {
            var (one, many) = (peaks[(stage, small)], peaks[(stage, large)]);
            var ratio = (many.Peak - many.Set) / (one.Peak - one.Set);
            Console.WriteLine($"{stage}: {ratio:F2} times the memory for {(double)large / small:F0} times the accounts");
            flat &= ratio <= 1.3;
        }
        return flat;
    }

    /// <summary>Runs the measured process.</summary>
    public static async Task ChildAsync(string stage, string connection, string file)
    {
        var account = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
        var context = PipelineParts.Of(
            account, database, NotificationSenders.Create($"pickup:{Path.GetDirectoryName(file)}/mail"), new TestOptions(),
            NullLoggerFactory.Instance);
        long rows;
        if (stage == "ingest")
        {
            await context.Get<StoreSetup>().EnsureAsync(CancellationToken.None);
            var blob = await account.Blobs.FindAsync("Bench.zip", CancellationToken.None) ?? throw new InvalidOperationException("no blob");
            await context.Get<DroppedBreaches>().IngestAsync(blob.Version.Name, CancellationToken.None);
            var load = await database.GetLoadAsync(new(1), CancellationToken.None);
            rows = load!.IngestComplete ? load.Accounts : throw new InvalidOperationException(load.Error);
        }
        else
        {
            // As many slices at once as the host processes messages.
            var slices = await database.ListSlicesAsync(new(1), failedOnly: false, CancellationToken.None);
            var upsert = context.Get<UpsertSlice>();
            await Parallel.ForEachAsync(slices, new ParallelOptions { MaxDegreeOfParallelism = 24 }, async (slice, token) =>
                await upsert.RunAsync(slice, token));
            rows = (await database.GetLoadAsync(new(1), CancellationToken.None))!.Entities;
        }
        MeasuredChild.Report(rows, MeasuredChild.PeakMiB(), stage == "ingest" ? SetBytes(rows) / 1048576.0 : 0);
    }

    /// <summary>Returns the memory of a dedupe set with this many accounts under the same cap, by its own count.</summary>
    private static long SetBytes(long accounts)
    {
        var set = new DedupeSet(DedupeSet.DefaultCap());
        Span<byte> alias = stackalloc byte[20];
        for (var i = 0L; i < accounts; i++)
        {
            i.TryFormat(alias, out var written);
            set.Add(SeededAccountHash.Compute(alias[..written], "example.com"u8));
        }
        return set.MemoryBytes;
    }

    private static async Task UploadAsync(string connection, long accounts)
    {
        var file = Path.GetTempFileName();
        try
        {
            using (var zip = File.Create(file))
                SampleBreach.Write(zip, new SampleOptions { Accounts = accounts, Seed = 1 }, CancellationToken.None);
            var blobs = StorageAccount.Open(connection, NullLoggerFactory.Instance).Blobs;
            await blobs.CreateAsync(CancellationToken.None);
            using var content = File.OpenRead(file);
            await blobs.UploadAsync("Bench.zip", content, null, CancellationToken.None);
        }
        finally
        {
            File.Delete(file);
        }
    }

    private static async Task<(double Peak, double Set)> RunChildAsync(string stage, string connection, string file)
    {
        var figures = await MeasuredChild.RunAsync("memory-child", stage, connection, file);
        Console.Error.WriteLine($"{stage}: {figures[0]:N0} rows, peak {figures[1]:N0} MiB, of it dedupe set {figures[2]:N0} MiB");
        return (figures[1], figures[2]);
    }
}
