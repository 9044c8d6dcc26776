namespace HibpIngest.Integration.Tests.Functions;

/// <summary>Tests that an ingest ended by its host resumes, and produces the same rows as an uninterrupted one.</summary>
public sealed class ContinuationTests
{
    private const int Accounts = 3_000;

    [Fact]
    public async Task Cancelled_invocation_stops_at_a_batch_and_a_sweep_resumes_it()
    {
        // Batches so small that copying is not finished before the invocation is cancelled.
        await using var host = await FunctionsHost.StartAsync(
            new Dictionary<string, string> { ["HIBP_BATCHROWS"] = "20", ["HIBP_SLICEROWS"] = "20" });
        // The second entry shares some of the first's accounts.
        await host.DropAsync("Big.zip", PipelineRig.Zip(("a.csv", Text(0, Accounts / 2)), ("b.csv", Text(Accounts / 3, Accounts))));
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
        Assert.Equal(Enumerable.Range(0, Accounts).Select(i => $"user{i}@example.com"), await RowsAsync(host.DatabaseFile));
    }

    private static async Task<Load?> LoadAsync(FunctionsHost host)
    {
        await using var database = SqliteBreachDatabase.Open(host.DatabaseFile, TimeProvider.System);
        return (await database.GetSchemaVersionAsync(None)).Found == 0
            ? null : await database.GetLoadAsync(new(1), None);
    }

    private static string Text(int from, int to) =>
        string.Concat(Enumerable.Range(from, to - from).Select(i => $"{i};User{i}@example.com;x\n"));

    private static async Task<List<string>> RowsAsync(string file)
    {
        await using var database = SqliteBreachDatabase.Open(file, TimeProvider.System);
        var rows = new AccountBatch(100_000);
        await database.ReadRowsAsync(new(1), 1, 100_000, rows, None);
        return [.. Enumerable.Range(0, rows.Count).Select(
            i => Encoding.ASCII.GetString(rows.Alias(i)) + "@" + Encoding.ASCII.GetString(rows.Domain(i)))];
    }
}
