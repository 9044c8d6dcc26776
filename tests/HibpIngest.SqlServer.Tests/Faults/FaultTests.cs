using HibpIngest.Storage.Sql.SqlServer;
using Microsoft.Data.SqlClient;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.SqlServer.Tests.Faults;

/// <summary>
/// Copies a load in batches while the connection fails at one moment after another. No row may be lost or duplicated,
/// and positions and slices must be as without the fault. A connection of the test's own reads the rows.
/// HIBP_TEST_FAULT_RUNS sets how often each case runs.
/// </summary>
public sealed class FaultTests(FaultDatabase shared) : IClassFixture<FaultDatabase>, IAsyncDisposable
{
    private const int BatchRows = 4_000;
    private const int Batches = 3;
    private const int SliceRows = 1_500;
    private const string Me = "host/1/me";

    private static readonly TimeSpan Lease = TimeSpan.FromMinutes(10);
    private static readonly int Runs = int.Parse(Environment.GetEnvironmentVariable("HIBP_TEST_FAULT_RUNS") ?? "1");

    private readonly TdsProxy _proxy = TestServer.Proxy();

    /// <summary>Kind of packet, its number (counted from the first batch on), the fault, and the run.</summary>
    public static TheoryData<string, int, string, int> Moments
    {
        get
        {
            var moments = new TheoryData<string, int, string, int>();
            for (var run = 1; run <= Runs; run++)
            {
                foreach (var fault in new[] { TdsFault.CutBefore, TdsFault.CutInside })
                {
                    foreach (var nth in new[] { 1, 2, 20, 40 })
                        moments.Add(nameof(TdsRequest.Rows), nth, fault.ToString(), run);
                }
                for (var nth = 1; nth <= Batches; nth++)
                {
                    moments.Add(nameof(TdsRequest.Begin), nth, nameof(TdsFault.CutAnswer), run);
                    moments.Add(nameof(TdsRequest.Commit), nth, nameof(TdsFault.CutBefore), run);
                    moments.Add(nameof(TdsRequest.Commit), nth, nameof(TdsFault.CutAnswer), run);
                }
                for (var nth = 1; nth <= 8; nth++)
                    moments.Add(nameof(TdsRequest.Statement), nth, nameof(TdsFault.CutAnswer), run);
                moments.Add(nameof(TdsRequest.Rows), 10, nameof(TdsFault.Silence), run);
                moments.Add(nameof(TdsRequest.Commit), 2, nameof(TdsFault.Silence), run);
            }
            return moments;
        }
    }

    public static TheoryData<int> EachRun => [.. Enumerable.Range(1, Runs)];

    public ValueTask DisposeAsync() => _proxy.DisposeAsync();

    [Theory]
    [MemberData(nameof(Moments))]
    public async Task Connection_fault_during_a_copy_neither_loses_nor_duplicates_rows(string kind, int nth, string fault, int run)
    {
        _ = run;
        // A server that stops responding is detected only by the timeout.
        await using var database = OpenThroughProxy(fault == nameof(TdsFault.Silence) ? TimeSpan.FromSeconds(5) : TimeSpan.FromMinutes(1));
        var load = await StartAsync(database);
        var struck = _proxy.Strike(Enum.Parse<TdsRequest>(kind), nth, Enum.Parse<TdsFault>(fault));

        await CopyAsync(database, load);

        Assert.True(struck(), "the fault never struck: the test shows nothing");
        await AssertWholeAsync(load);
    }

    [Theory]
    [MemberData(nameof(EachRun))]
    public async Task Temporarily_refused_login_is_retried_without_losing_rows(int run)
    {
        _ = run;
        await using var database = OpenThroughProxy(TimeSpan.FromMinutes(1));
        var load = await StartAsync(database);
        SqlConnection.ClearAllPools();
        var refused = 0;
        _proxy.Decide = request =>
            request == TdsRequest.Login && Interlocked.Increment(ref refused) <= 3 ? TdsFault.RefuseLogin : TdsFault.None;

        await CopyAsync(database, load);

        Assert.True(refused > 3);
        await AssertWholeAsync(load);
    }

    private SqlServerBreachDatabase OpenThroughProxy(TimeSpan timeout) => SqlServerBreachDatabase.Open(
        new SqlConnectionStringBuilder(shared.ConnectionString)
        {
            DataSource = $"127.0.0.1,{_proxy.Port}",
            Encrypt = SqlConnectionEncryptOption.Optional,
            CommandTimeout = (int)timeout.TotalSeconds,
        }.ConnectionString,
        TimeProvider.System,
        NullLoggerFactory.Instance);

    private static async Task<LoadId> StartAsync(IBreachDatabase database)
    {
        var settings =
            new LoadSettings
            {
                ExtractorVersion = 1,
                TopLevelDomains = "cafe",
                Limits = new ArchiveLimits(),
                DedupeCap = 1_000,
                BatchRows = BatchRows,
                SliceRows = SliceRows
            };
        var load = await database.StartLoadAsync(
            "Adobe", new BreachMetadata(), new BlobVersion("Adobe.zip", $"\"{Guid.NewGuid():N}\""), settings, failure: null,
            CancellationToken.None);
        Assert.True(await database.TryClaimLoadAsync(load.Id, Me, Lease, CancellationToken.None));
        return load.Id;
    }

    /// <summary>Copies as the ingest does: after an outage it reads the checkpoint and resumes.</summary>
    private static async Task CopyAsync(IBreachDatabase database, LoadId load)
    {
        for (var outages = 0; ;)
        {
            try
            {
                var last = (await database.GetLoadAsync(load, CancellationToken.None))!.LastPosition;
                if (last == Batches * BatchRows)
                {
                    await database.FinishIngestAsync(load, Me, new LoadCheckpoint(), CancellationToken.None);
                    return;
                }
                Assert.Equal(0, last % BatchRows);
                var slices = await database.CommitBatchAsync(
                    load, Me, Batch(last + 1), SliceRows, new LoadCheckpoint(), false, Lease, CancellationToken.None);
                Assert.Equal(
                    [(last + 1, 1_500), (last + 1_501, 1_500), (last + 3_001, 1_000)], slices.Select(slice => (slice.First, slice.Count)));
            }
            catch (UnavailableException) when (++outages < 10)
            {
                // The dispatcher would redeliver the message.
            }
        }
    }

    private static AccountBatch Batch(long first)
    {
        var batch = new AccountBatch(BatchRows) { FirstPosition = first };
        for (var position = first; !batch.IsFull; position++)
            batch.Add(Encoding.ASCII.GetBytes($"user{position}"), Encoding.ASCII.GetBytes($"domain{position % 7}.example"));
        return batch;
    }

    private async Task AssertWholeAsync(LoadId load)
    {
        await using var connection = new SqlConnection(shared.ConnectionString);
        await connection.OpenAsync();
        await using (
            var rows = new SqlCommand("SELECT position, alias, domain FROM dbo.rows WHERE load_id = @load ORDER BY position", connection))
        {
            rows.Parameters.AddWithValue("@load", load.Value);
            await using var reader = await rows.ExecuteReaderAsync();
            var position = 0L;
            while (await reader.ReadAsync())
            {
                position++;
                Assert.Equal(
                    (position, $"user{position}", $"domain{position % 7}.example"),
                    (reader.GetInt64(0), reader.GetString(1), reader.GetString(2)));
            }
            Assert.Equal(Batches * BatchRows, position);
        }
        await using var slices = new SqlCommand(
            "SELECT number, first_position, last_position FROM dbo.slices WHERE load_id = @load ORDER BY number", connection);
        slices.Parameters.AddWithValue("@load", load.Value);
        await using var found = await slices.ExecuteReaderAsync();
        var next = 1L;
        var number = 0;
        for (; await found.ReadAsync(); next = found.GetInt64(2) + 1)
            Assert.Equal((++number, next), (found.GetInt32(0), found.GetInt64(1)));
        Assert.Equal((Batches * 3, (Batches * BatchRows) + 1L), (number, next));
    }
}
