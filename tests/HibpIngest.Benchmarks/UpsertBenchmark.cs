using HibpIngest.Cli.Emulator;
using HibpIngest.Delivery;
using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Runs the upsert stage (rows from SQL, grouped, upserted, slice recorded, with the default number of transactions
/// in flight) into one emulator, compared with a bare HttpClient that sends the same requests, recorded against a
/// server that only responds, into another emulator that is equally full. Each pair sends the next slices, so both
/// fill up alike.
/// </summary>
internal sealed class UpsertBenchmark : IAsyncDisposable
{
    private const int SlicesEachTime = 4;

    private readonly TestOptions _options = new();
    private readonly SqliteBreachDatabase _database;
    private readonly AzuriteEmulator _ours;
    private readonly AzuriteEmulator _theirs;
    private readonly string _folder;
    private readonly BareTableClient _bare;
    private readonly Queue<(IReadOnlyList<TableRequest> Requests, int Entities)> _recorded = new();
    private readonly List<double> _bareMicroseconds = [];
    private readonly List<double> _ourMicroseconds = [];
    private IReadOnlyList<Slice> _slices = [];
    private int _next;

    private UpsertBenchmark(SqliteBreachDatabase database, AzuriteEmulator ours, AzuriteEmulator theirs, string folder)
    {
        _database = database;
        _ours = ours;
        _theirs = theirs;
        _folder = folder;
        _bare = new BareTableClient(theirs.ConnectionString, _options.Upsert.TransactionsInFlight);
    }

    public static async Task<UpsertBenchmark> StartAsync(IReadOnlyList<AccountBatch> batches, string folder)
    {
        var database = SqliteBreachDatabase.Open(Path.Combine(folder, "upsert.db"), TimeProvider.System);
        var bench = new UpsertBenchmark(
            database, await AzuriteEmulator.StartAsync(new AzuriteOptions(), CancellationToken.None),
            await AzuriteEmulator.StartAsync(new AzuriteOptions(), CancellationToken.None), folder);
        await bench.CopyAsync(batches);
        return bench;
    }

    public async Task MeasureAsync(Pairs pairs, int count)
    {
        if (_slices.Count < (count + 1) * SlicesEachTime)
            throw new InvalidOperationException(
                $"{(count + 1) * SlicesEachTime} slices are needed, there are {_slices.Count}: give more accounts");
        await pairs.MeasureAsync("upsert", "entity", SendBareAsync, UpsertAsync);
        Console.WriteLine($"CPU time per entity, without the emulator's: upserted {_ourMicroseconds.Skip(1).Median():F1} µs, "
            + $"the same requests sent bare {_bareMicroseconds.Skip(1).Median():F1} µs");
    }

    public async ValueTask DisposeAsync()
    {
        _bare.Dispose();
        await _database.DisposeAsync();
        await _ours.DisposeAsync();
        await _theirs.DisposeAsync();
    }

    private async Task CopyAsync(IReadOnlyList<AccountBatch> batches)
    {
        await _database.UpgradeAsync(CancellationToken.None);
        var load = await PreparedLoad.CopyAsync(_database, batches, _options.Ingest);
        _slices = await _database.ListSlicesAsync(load.Id, failedOnly: false, CancellationToken.None);

        var theirs = ConnectionStrings.Endpoint(_theirs.ConnectionString, "Table").Authority;
        var all = new List<TableRequest>();
        await using var answering = await FakeTableServer.StartAsync(request =>
        {
            lock (all)
                all.Add(request);
        });
        var context = Context(ConnectionStrings.WithTables(_theirs.ConnectionString, answering.Endpoint));
        for (var first = 0; first + SlicesEachTime <= _slices.Count; first += SlicesEachTime)
        {
            var before = all.Count;
            await RunSlicesAsync(context, first);
            var requests = all.Skip(before).Select(request => request.WithServer(new Uri(answering.Endpoint).Authority, theirs)).ToList();
            _recorded.Enqueue((requests, _slices.Skip(first).Take(SlicesEachTime).Sum(slice => slice.Count)));
        }
        await _database.RequeueSlicesAsync(load.Id, null, failedOnly: false, CancellationToken.None);
        await Context(_ours.ConnectionString).Table.CreateAsync(CancellationToken.None);
        await Context(_theirs.ConnectionString).Table.CreateAsync(CancellationToken.None);
    }

    private async Task<(double, TimeSpan)> UpsertAsync()
    {
        var context = Context(_ours.ConnectionString);
        var first = _next;
        _next += SlicesEachTime;
        return await MeasureAsync(
            _slices.Skip(first).Take(SlicesEachTime).Sum(slice => slice.Count), () => RunSlicesAsync(context, first), _ourMicroseconds);
    }

    private static async Task<(double, TimeSpan)> MeasureAsync(int entities, Func<Task> run, List<double> microseconds)
    {
        var (began, cpu) = (Stopwatch.GetTimestamp(), Environment.CpuUsage.TotalTime);
        await run();
        microseconds.Add((Environment.CpuUsage.TotalTime - cpu).TotalMicroseconds / entities);
        return (entities, Stopwatch.GetElapsedTime(began));
    }

    private async Task RunSlicesAsync(PipelineParts context, int first)
    {
        var stage = context.Get<UpsertSlice>();
        foreach (var slice in _slices.Skip(first).Take(SlicesEachTime))
            await stage.RunAsync(slice);
    }

    private Task<(double, TimeSpan)> SendBareAsync()
    {
        var (requests, entities) = _recorded.Dequeue();
        return MeasureAsync(entities, () => Parallel.ForEachAsync(
            requests, new ParallelOptions { MaxDegreeOfParallelism = _options.Upsert.TransactionsInFlight },
            async (request, token) => await _bare.SendAsync(request, token)), _bareMicroseconds);
    }

    private PipelineParts Context(string connection)
    {
        var account = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        return PipelineParts.Of(
            account, _database, NotificationSenders.Create($"pickup:{_folder}/mail"), _options, NullLoggerFactory.Instance);
    }
}
