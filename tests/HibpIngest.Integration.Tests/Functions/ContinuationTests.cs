using HibpIngest.Hosting.Messages;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Storage.Sql.Sqlite;
using Xunit.Abstractions;

namespace HibpIngest.Integration.Tests.Functions;

/// <summary>
/// Tests that an ingest ended by its budget, its host or a signal resumes, and produces the same rows as an
/// uninterrupted one.
/// </summary>
public sealed class ContinuationTests(ITestOutputHelper output)
{
    // HIBP_TEST_BUDGET=00:00:02 takes more accounts, and minutes.
    private static readonly string Budget = Environment.GetEnvironmentVariable("HIBP_TEST_BUDGET") ?? "00:00:00.03";
    private static readonly int Accounts = Budget == "00:00:02" ? 80_000 : 3_000;

    // Batches so small that copying takes many budgets, and is not finished before the test intervenes.
    private static readonly Dictionary<string, string> Small = new() { ["HIBP_BATCHROWS"] = "50", ["HIBP_SLICEROWS"] = "50" };
    private static readonly Dictionary<string, string> Slow = new() { ["HIBP_BATCHROWS"] = "20", ["HIBP_SLICEROWS"] = "20" };

    [Fact]
    public async Task Ingest_with_a_small_budget_continues_to_the_same_rows()
    {
        var zip = Zip();
        await using var host = await FunctionsHost.StartAsync(new Dictionary<string, string>(Small) { ["HIBP_TIMEBUDGET"] = Budget });
        var began = TimeProvider.System.GetTimestamp();
        (await host.IngestAsync("Big.zip", zip)).AssertDone();
        output.WriteLine($"first invocation: {TimeProvider.System.GetElapsedTime(began)}");
        var counts = await host.PumpAsync();
        output.WriteLine($"all: {TimeProvider.System.GetElapsedTime(began)}, {counts["ResumeIngest"].Calls} continuations");

        Assert.True(counts["ResumeIngest"].Calls >= 2, $"{counts["ResumeIngest"].Calls} continuations");
        Assert.All(counts.Values, count => Assert.Equal(0, count.Failed));
        var expected = Expected();
        Assert.Equal(expected, await RowsAsync(host.DatabaseFile));
        Assert.Equal(expected, await OneGoAsync(zip));
        Assert.Equal(expected.Order(), (await RawTable.ReadAccountsAsync(host.Storage, "accounts", expected)).Keys.Order());
    }

    [Fact]
    public async Task Ingest_interrupted_by_a_signal_is_completed_by_the_next_process()
    {
        var zip = Zip();
        await using var host = await FunctionsHost.StartAsync(Slow);
        var call = host.IngestAsync("Big.zip", zip);
        await Eventually.IsSoAsync(async () => (await LoadAsync(host))?.LastPosition > 0, call);
        await host.StopWorkerAsync();

        // The process may end before its response is sent.
        var reason = (await call).AssertFailed();
        Assert.True(reason == new WorkerEndedException().Message || reason.Contains("stopped", StringComparison.Ordinal), reason);
        var stopped = (await LoadAsync(host))!;
        Assert.Equal((LoadState.Ingesting, null), (stopped.State, stopped.LeaseExpiresAt));
        Assert.InRange(stopped.LastPosition, 1, Accounts - 1);

        await host.StartWorkerAsync();
        // The host retries the event.
        (await host.InvokeBlobAsync("Big.zip")).AssertDone();
        Assert.Equal(LoadState.Upserting, (await LoadAsync(host))!.State);
        Assert.Equal(Expected(), await RowsAsync(host.DatabaseFile));
    }

    [Fact]
    public async Task Cancelled_invocation_stops_at_a_batch_and_a_sweep_resumes_it()
    {
        var zip = Zip();
        await using var host = await FunctionsHost.StartAsync(Slow);
        await host.DropAsync("Big.zip", zip);
        using var close = new CancellationTokenSource();
        var call = host.InvokeBlobAsync("Big.zip", close.Token);
        await Eventually.IsSoAsync(async () => (await LoadAsync(host))?.LastPosition > 0, call);
        await close.CancelAsync();
        Assert.Contains("stopped", (await call).AssertFailed(), StringComparison.Ordinal);
        await Eventually.IsSoAsync(async () => (await LoadAsync(host))!.LeaseExpiresAt is null);
        Assert.InRange((await LoadAsync(host))!.LastPosition, 1, Accounts - 1);

        (await host.InvokeTimerAsync()).AssertDone();
        Assert.Equal((1, 0), (await host.PumpAsync("ResumeIngest"))["ResumeIngest"]);
        Assert.Equal(LoadState.Upserting, (await LoadAsync(host))!.State);
        Assert.Equal(Expected(), await RowsAsync(host.DatabaseFile));
    }

    private static List<string> Expected() => [.. Enumerable.Range(0, Accounts).Select(i => $"user{i}@example.com")];

    private static async Task<Load?> LoadAsync(FunctionsHost host)
    {
        await using var database = SqliteBreachDatabase.Open(host.DatabaseFile, TimeProvider.System);
        return (await database.GetSchemaVersionAsync(CancellationToken.None)).Found == 0
            ? null : await database.GetLoadAsync(new(1), CancellationToken.None);
    }

    /// <summary>
    /// Makes two entries, the second sharing some of the first's accounts. They have one domain, so that a slice is
    /// one transaction.
    /// </summary>
    private static byte[] Zip() => PipelineRig.Zip(("a.csv", Text(0, Accounts / 2)), ("b.csv", Text(Accounts / 3, Accounts)));

    private static string Text(int from, int to) =>
        string.Concat(Enumerable.Range(from, to - from).Select(i => $"{i};User{i}@example.com;x\n"));

    /// <summary>Returns the rows of an uninterrupted ingest, in order.</summary>
    private static async Task<List<string>> OneGoAsync(byte[] zip)
    {
        await using var rig = await PipelineRig.StartAsync();
        await rig.DropAsync("Big.zip", zip);
        await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, CancellationToken.None);
        await PipelineRig.PumpOnceAsync(rig.Context, rig.Context.Get<MessageDispatcher>());
        return await RowsAsync(rig.DatabaseFile);
    }

    private static async Task<List<string>> RowsAsync(string file)
    {
        await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
        var rows = new AccountBatch(100_000);
        await database.ReadRowsAsync(new(1), 1, 100_000, rows, CancellationToken.None);
        return [.. Enumerable.Range(0, rows.Count).Select(
            i => Encoding.ASCII.GetString(rows.Alias(i)) + "@" + Encoding.ASCII.GetString(rows.Domain(i)))];
    }
}
