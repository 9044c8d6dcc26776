using HibpIngest.Delivery;
using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Testing;

/// <summary>
/// Runs the upsert stage against a <see cref="ThrottlingTableServer"/>: many slices in flight, in independent
/// processes (each with a storage account client and a database object of its own), with <see cref="ThrottledRows"/>.
/// </summary>
internal static class ThrottledUpsert
{
    /// <summary>Slices that the Functions host and the local host process at once.</summary>
    private const int SlicesOfAProcess = 24;

    public static int Processes(int inFlight) => Math.Max(inFlight / SlicesOfAProcess, 1);

    public static async Task<ThrottleResult> MeasureAsync(string folder, int inFlight, int slices, int sliceRows, TableLimits limits)
    {
        var file = Path.Combine(folder, $"{Guid.NewGuid():N}.db");
        var options = new TestOptions { Ingest = { SliceRows = sliceRows, BatchRows = 20_000 } };
        var rows = slices * sliceRows;
        await using var server = await ThrottlingTableServer.StartAsync(limits);
        await using var first = SqliteBreachDatabase.Open(file, TimeProvider.System);
        await first.UpgradeAsync(CancellationToken.None);
        var load = await PreparedLoad.CopyAsync(first, ThrottledRows.Batches(rows), options.Ingest);
        var queue = new ConcurrentQueue<Slice>(await first.ListSlicesAsync(load.Id, failedOnly: false, CancellationToken.None));
        var deferred = 0;

        var began = Stopwatch.GetTimestamp();
        var processes = Processes(inFlight);
        await Task.WhenAll(Enumerable.Range(0, processes).Select(async _ =>
        {
            using var account = StorageAccount.Open(ConnectionStrings.Of(server.Address), NullLoggerFactory.Instance);
            await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
            var stage = PipelineParts.Of(
                account, database, NotificationSenders.Create($"pickup:{folder}/mail"), options, NullLoggerFactory.Instance)
                .Get<UpsertSlice>();
            await Task.WhenAll(Enumerable.Range(0, inFlight / processes).Select(_ => Task.Run(async () =>
            {
                while (queue.TryDequeue(out var slice))
                {
                    try
                    {
                        await stage.RunAsync(slice);
                    }
                    catch (UnavailableException)
                    {
                        Interlocked.Increment(ref deferred);
                        queue.Enqueue(slice);
                    }
                }
            })));
        }));
        var seconds = Stopwatch.GetElapsedTime(began).TotalSeconds;
        var done = await first.GetLoadAsync(load.Id, CancellationToken.None);
        if (done!.Slices.Done != slices || done.Entities != rows)
            throw new InvalidOperationException($"{done.Slices.Done} of {slices} slices are done, with {done.Entities} of {rows} entities");
        return new ThrottleResult(seconds, ThrottledRows.Bound(rows, limits), server.Refused, (double)server.Accepted / rows, deferred);
    }
}

/// <param name="Bound">The least time that the limits allow.</param>
/// <param name="Written">Entities written per entity.</param>
internal sealed record ThrottleResult(double Seconds, double Bound, double Refused, double Written, int Deferred)
{
    public double Rate => Bound / Seconds;
}
