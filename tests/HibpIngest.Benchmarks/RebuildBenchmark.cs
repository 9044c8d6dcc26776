using System.Threading.Channels;
using HibpIngest.Cli.Emulator;
using HibpIngest.Cli.Samples;
using HibpIngest.Delivery;
using HibpIngest.Journal.Files;
using HibpIngest.Journal.Manifest;
using HibpIngest.Journal.Merge;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Layouts;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Pipeline.Upsert;
using HibpIngest.Storage.Azure.Tables;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures a rebuild of five logged loads, of which the later four share a fifth of their accounts with the first:
/// its number of requests compared with a replay slice by slice, its cost without HTTP, and its time into a table
/// server that only responds, compared with a bare HttpClient that sends the same requests. Each measurement has a
/// process of its own, in turns.
/// </summary>
internal sealed class RebuildBenchmark(int rows, int count, string folder)
{
    private const double LeastSaving = 6;
    private const double LeastRate = 2;
    private const double LeastRatio = 0.6;
    private const double MaxMiB = 512;

    private const int Loads = 5;
    private const int SharedEvery = 5;
    private const int InFlight = 128;
    private static readonly CancellationToken None = CancellationToken.None;

    private readonly string _file = Path.Combine(folder, "rebuild.db");
    private readonly string _log = Path.Combine(folder, "log");
    private readonly string _requests = Path.Combine(folder, "requests");
    private readonly SampleAccounts _samples = new(1);
    private long _naive;

    /// <summary>Prints the figures; returns whether the requirements are met.</summary>
    public async Task<bool> RunAsync()
    {
        await using var emulator = await AzuriteEmulator.StartAsync(new AzuriteOptions(), None);
        var sources = await LoadAsync(emulator.ConnectionString);
        var (merged, accounts, cpu) = await MergeAsync(sources);
        await RecordAsync(emulator.ConnectionString);

        await using var server = await FakeTableServer.StartAsync();
        var (ratios, peak, counted) = (new List<double>(), 0d, true);
        Console.WriteLine("| pair | bare HttpClient s | its CPU s | rebuild s | its CPU s | ratio | peak MiB |");
        Console.WriteLine("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        for (var pair = 1; pair <= count; pair++)
        {
            var connection = ConnectionStrings.WithTables(emulator.ConnectionString, server.Endpoint);
            var bare = await MeasuredChild.RunAsync("rebuild-bare", _requests, connection);
            var before = server.Requests;
            var own = await MeasuredChild.RunAsync("rebuild-child", folder, emulator.ConnectionString, server.Endpoint, $"pair{pair}");
            counted &= server.Requests - before == merged && bare[1] == merged && own[3] == accounts;
            ratios.Add(bare[0] / own[0]);
            peak = Math.Max(peak, own[2]);
            Console.WriteLine(
                $"| {pair} | {bare[0]:F1} | {bare[2]:F1} | {own[0]:F1} | {own[1]:F1} | {ratios[^1]:F2} | {own[2]:N0} |");
        }

        var (saving, rates, ratio) = ((double)_naive / merged, cpu.ConvertAll(one => rows / one.TotalSeconds / 1e6), ratios.Median());
        Console.WriteLine();
        Console.WriteLine(
            $"{rows:N0} rows of {Loads} loads, {accounts:N0} accounts: {merged:N0} requests, {saving:F2} times fewer than the {_naive:N0} "
            + $"of a replay slice by slice (at least {LeastSaving})");
        Console.WriteLine(
            $"without HTTP, bodies made: {rates.Median():F2} ({rates.Min():F2}-{rates.Max():F2}) million rows/s a core, median of {count} "
            + $"rounds (at least {LeastRate})");
        Console.WriteLine(
            $"with it: {ratio:F2} ({ratios.Min():F2}-{ratios.Max():F2}) of a bare HttpClient, median of {count} pairs (at least "
            + $"{LeastRatio}); {peak:N0} MiB (at most {MaxMiB})");
        if (!counted)
            Console.WriteLine("a run made other requests, or wrote other accounts, than were counted");
        return counted && saving >= LeastSaving && peak <= MaxMiB && rates.Median() >= LeastRate && ratio >= LeastRatio;
    }

    /// <summary>Runs the measured rebuild; reports seconds, CPU seconds, MiB, accounts.</summary>
    public static async Task ChildAsync(string folder, string connection, string endpoint, string name)
    {
        await using var database = SqliteBreachDatabase.Open(Path.Combine(folder, "rebuild.db"), TimeProvider.System);
        var tables = StorageAccount.Open(ConnectionStrings.WithTables(connection, endpoint), NullLoggerFactory.Instance).Tables;
        var context = Context(connection, database, Path.Combine(folder, "log")) with { Tables = tables };
        var (cpu, began) = (Environment.CpuUsage.TotalTime, Stopwatch.GetTimestamp());
        var result = await context.Get<RebuildLayout>().RunAsync(
            new RebuildOrder(name) { Ranges = false, Folder = folder }, null, None);
        MeasuredChild.Report(
            Stopwatch.GetElapsedTime(began).TotalSeconds, (Environment.CpuUsage.TotalTime - cpu).TotalSeconds, MeasuredChild.PeakMiB(),
            result.Accounts);
    }

    /// <summary>Sends the recorded requests from a file; reports seconds, requests, CPU seconds.</summary>
    public static async Task BareAsync(string file, string connection)
    {
        using var client = new BareTableClient(connection, InFlight);
        var channel = Channel.CreateBounded<TableRequest>(4 * InFlight);
        var (began, sent) = (Stopwatch.GetTimestamp(), 0);
        var reading = Task.Run(async () =>
        {
            await using var input = new FileStream(file, FileMode.Open, FileAccess.Read, FileShare.Read, 1 << 20);
            using var reader = new BinaryReader(input);
            while (input.Position < input.Length)
            {
                var request = new TableRequest(
                    reader.ReadString(), reader.ReadString(), Text(reader), Text(reader), Text(reader), Text(reader),
                    reader.ReadBytes(reader.ReadInt32()));
                await channel.Writer.WriteAsync(request);
            }
            channel.Writer.Complete();
        });
        await Task.WhenAll(Enumerable.Range(0, InFlight).Select(_ => Task.Run(async () =>
        {
            await foreach (var request in channel.Reader.ReadAllAsync())
            {
                await client.SendAsync(request, None);
                Interlocked.Increment(ref sent);
            }
        })));
        await reading;
        MeasuredChild.Report(Stopwatch.GetElapsedTime(began).TotalSeconds, sent, Environment.CpuUsage.TotalTime.TotalSeconds);

        static string? Text(BinaryReader reader) => reader.ReadString() is { Length: > 0 } text ? text : null;
    }

    /// <summary>Makes loads that are in SQL, done, and in the log; counts what a replay of their slices would send.</summary>
    private async Task<IReadOnlyList<IMergeSource>> LoadAsync(string connection)
    {
        await using var database = SqliteBreachDatabase.Open(_file, TimeProvider.System);
        var context = Context(connection, database, _log);
        await context.Get<StoreSetup>().EnsureAsync(None);
        SliceLayout[] layout = [new(new LayoutPlacement(new LayoutFacts()), WithRanges: false)];
        var sources = new List<IMergeSource>();
        for (var number = 0; number < Loads; number++)
        {
            var load = await PreparedLoad.CopyAsync(database, Rows(number), context.Options.Ingest, $"Bench{number}");
            await PreparedLoad.FinishAsync(database, load);
            foreach (var slice in await database.ListSlicesAsync(load.Id, failedOnly: false, None))
            {
                var buffers = SliceBuffers.Rent(slice.Count);
                await database.ReadRowsAsync(load.Id, slice.First, slice.Last, buffers.Accounts, None);
                _naive += buffers.Group(layout);
                SliceBuffers.Return(buffers);
                await PreparedLoad.CompleteSliceAsync(database, slice);
            }
            await context.Get<WriteJournal>().RunAsync((await database.GetJournalEntryAsync(load.Id, None))!, null, None);
            var entry = (await database.GetJournalEntryAsync(load.Id, None))!;
            sources.Add(new SegmentSource(
                context.Log, load.Id, entry.Mark,
                [.. entry.Segments.Select(segment => JournalNames.Segment(JournalNames.Folder(entry), segment.First))]));
            Console.Error.WriteLine($"load {number + 1} of {Loads} is logged");
        }
        return sources;
    }

    private IEnumerable<AccountBatch> Rows(int load) => PreparedLoad.Batches(rows / Loads, (batch, number) =>
        batch.Add(_samples, load > 0 && number % SharedEvery == 0 ? number : ((long)load * (rows / Loads)) + number));

    /// <summary>Does everything of a rebuild except sending its requests, whose bodies are made.</summary>
    private async Task<(long Requests, long Accounts, List<TimeSpan> Cpu)> MergeAsync(IReadOnlyList<IMergeSource> sources)
    {
        var address = "http://127.0.0.1:10002/devstoreaccount1/accounts"u8.ToArray();
        var times = new List<TimeSpan>();
        var (requests, accounts) = (0L, 0L);
        for (var round = 0; round < count; round++)
        {
            (requests, accounts) = (0, 0);
            var transactions = new MergedTransactions(new LayoutFacts(), [.. Enumerable.Range(1, Loads)], withRanges: false);
            var cpu = Environment.CpuUsage.TotalTime;
            // Two partitions share a rebuild's memory.
            await new MergeAccounts(folder, MergeAccounts.DefaultMemoryBytes / 2).RunAsync(
                sources,
                partition =>
                {
                    transactions.Fill(partition);
                    for (var i = 0; i < transactions.Count; i++)
                    {
                        using var one = transactions.Make(i);
                        using var body = TableTransaction.Merge(address, one.Partition.Span, one.Rows);
                        if (body.Body.Length == 0)
                            throw new InvalidOperationException("a body is empty");
                    }
                    (requests, accounts) = (requests + transactions.Count, accounts + partition.Count);
                    return Task.CompletedTask;
                },
                null, None);
            times.Add(Environment.CpuUsage.TotalTime - cpu);
        }
        return (requests, accounts, times);
    }

    /// <summary>Runs unmeasured, and records the requests.</summary>
    private async Task RecordAsync(string connection)
    {
        await using var output = new FileStream(_requests, FileMode.Create, FileAccess.Write, FileShare.None, 1 << 20);
        await using var writer = new BinaryWriter(output);
        await using var server = await FakeTableServer.StartAsync(request =>
        {
            lock (writer)
            {
                foreach (var text in new[] { request.Method, request.Path, request.ContentType, request.Accept, request.Prefer,
                    request.DataServiceVersion })
                    writer.Write(text ?? "");
                writer.Write(request.Body.Length);
                writer.Write(request.Body);
            }
        });
        await MeasuredChild.RunAsync("rebuild-child", folder, connection, server.Endpoint, "recorded");
    }

    private static PipelineParts Context(string connection, IBreachDatabase database, string log)
    {
        var options = new TestOptions { Journal = { Mode = JournalMode.On } };
        Directory.CreateDirectory(log);
        return PipelineParts.Of(
            StorageAccount.Open(connection, NullLoggerFactory.Instance), database, NotificationSenders.Create("pickup:."), options,
            NullLoggerFactory.Instance) with
        { Log = new FolderJournal(log) };
    }
}
