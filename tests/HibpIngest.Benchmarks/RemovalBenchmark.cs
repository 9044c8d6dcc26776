using HibpIngest.Cli.Emulator;
using HibpIngest.Delivery;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures removing a breach from one emulator, where half of the accounts are in another breach as well: by its rows,
/// and by a scan of the table with its rows purged.
/// </summary>
internal static class RemovalBenchmark
{
    /// <param name="batches">The breach.</param>
    /// <param name="folder">The databases' folder.</param>
    /// <param name="share">The share of time that the emulator gets during the removal.</param>
    public static async Task RunAsync(IReadOnlyList<AccountBatch> batches, string folder, double share)
    {
        foreach (var purged in (bool[])[false, true])
        {
            await using var emulator = await AzuriteEmulator.StartAsync(new AzuriteOptions(), CancellationToken.None);
            using var requests = new CountedRequests();
            using var account = StorageAccount.Open(emulator.ConnectionString, NullLoggerFactory.Instance, null, requests);
            await using var database = SqliteBreachDatabase.Open(Path.Combine(folder, $"removal{purged}.db"), TimeProvider.System);
            var options = new TestOptions { Journal = { Mode = JournalMode.Off } };
            var context = PipelineParts.Of(
                account, database, NotificationSenders.Create($"pickup:{folder}/mail"), options, NullLoggerFactory.Instance);
            await context.Get<StoreSetup>().EnsureAsync(CancellationToken.None);
            var load = await UpsertAsync(context, batches);
            await database.FailLoadAsync(load.Id, null, "as far as this benchmark needs it", superseded: false, CancellationToken.None);
            if (purged)
                await context.Get<PurgeLoad>().RunAsync(load.Id, withoutJournal: true, null, CancellationToken.None);

            requests.Clear();
            using var slowed = share < 1 ? new SlowedProcess(emulator.ProcessId, share) : null;
            var began = Stopwatch.GetTimestamp();
            var removed = await context.Get<RemoveBreach>().RunAsync(load.Breach, null, CancellationToken.None);
            var took = Stopwatch.GetElapsedTime(began);
            var how = purged ? "by scanning the table" : "by their rows";
            var rate = removed.Entities / took.TotalSeconds;
            Console.WriteLine($"removed {removed.Entities:N0} accounts {how} in {took.TotalSeconds:F1} s: {rate:N0} a second");
            requests.Print(took);
        }
    }

    private static async Task<Load> UpsertAsync(PipelineParts context, IReadOnlyList<AccountBatch> batches)
    {
        var load = await PreparedLoad.CopyAsync(context.Database, batches, context.Options.Ingest);
        var stage = context.Get<UpsertSlice>();
        foreach (var slice in await context.Database.ListSlicesAsync(load.Id, failedOnly: false, CancellationToken.None))
            await stage.RunAsync(slice);
        var another = (await context.Database.GetLoadAsync(load.Id, CancellationToken.None))!.Mark + 1;
        foreach (var batch in batches)
        {
            await Parallel.ForAsync(0, batch.Count / 2, async (i, token) =>
                await context.Table.UpsertAsync(
                    batch.DomainMemory(2 * i), new[] { batch.AliasRange(2 * i) }, batch.Memory, another, new TransactionsInFlight(1, token),
                    token));
        }
        return load;
    }

    /// <summary>Counts requests to the emulator and the time spent waiting for them.</summary>
    private sealed class CountedRequests() : DelegatingHandler(new SocketsHttpHandler { UseProxy = false })
    {
        private readonly ConcurrentDictionary<string, (int Count, TimeSpan Waited)> _requests = [];

        public void Clear() => _requests.Clear();

        public void Print(TimeSpan took)
        {
            foreach (var (what, (count, waited)) in _requests.OrderByDescending(one => one.Value.Waited))
            {
                Console.WriteLine(
                    $"  {count:N0} x {what}, {waited.TotalMilliseconds / count:F1} ms each, {waited / took:F1} in flight in the mean");
            }
        }

        protected override async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken)
        {
            var began = Stopwatch.GetTimestamp();
            var response = await base.SendAsync(request, cancellationToken);
            var (path, waited) = (request.RequestUri!.AbsolutePath, Stopwatch.GetElapsedTime(began));
            var what = path.EndsWith("$batch", StringComparison.Ordinal) ? "transaction"
                : path.Contains("(PartitionKey", StringComparison.Ordinal) ? $"{request.Method} of an entity"
                : path.EndsWith("()", StringComparison.Ordinal) ? "query" : "other";
            _requests.AddOrUpdate(what, (1, waited), (_, before) => (before.Count + 1, before.Waited + waited));
            return response;
        }
    }
}
