using HibpIngest.Pipeline.Settings;
using HibpIngest.Storage.Sql.SqlServer;
using Microsoft.Data.SqlClient;

namespace HibpIngest.SqlServer.Tests.Faults;

/// <summary>Copies a load while the connection fails at one moment after another: no row may be lost or duplicated.</summary>
public sealed class FaultTests(FaultDatabase shared) : IClassFixture<FaultDatabase>, IAsyncDisposable
{
    private const int BatchRows = 4_000;
    private const int Batches = 3;
    private const int SliceRows = 1_500;
    private const string Me = "host/1/me";

    private static readonly TimeSpan Lease = TimeSpan.FromMinutes(10);

    private readonly TdsProxy _proxy = TestServer.Proxy();

    /// <summary>Kind of packet, its number (counted from the first batch on), and the fault.</summary>
    public static TheoryData<string, int, string> Moments
    {
        get
        {
            var moments = new TheoryData<string, int, string>
            {
                { nameof(TdsRequest.Rows), 10, nameof(TdsFault.Silence) },
                { nameof(TdsRequest.Commit), 2, nameof(TdsFault.Silence) },
            };
            foreach (var nth in new[] { 1, 2, 20, 40 })
            {
                moments.Add(nameof(TdsRequest.Rows), nth, nameof(TdsFault.CutBefore));
                moments.Add(nameof(TdsRequest.Rows), nth, nameof(TdsFault.CutInside));
            }
            for (var nth = 1; nth <= Batches; nth++)
            {
                moments.Add(nameof(TdsRequest.Begin), nth, nameof(TdsFault.CutAnswer));
                moments.Add(nameof(TdsRequest.Commit), nth, nameof(TdsFault.CutBefore));
                moments.Add(nameof(TdsRequest.Commit), nth, nameof(TdsFault.CutAnswer));
            }
            for (var nth = 1; nth <= 8; nth++)
                moments.Add(nameof(TdsRequest.Statement), nth, nameof(TdsFault.CutAnswer));
            return moments;
        }
    }

    public ValueTask DisposeAsync() => _proxy.DisposeAsync();

    [Theory]
    [MemberData(nameof(Moments))]
    public async Task Connection_fault_during_a_copy_neither_loses_nor_duplicates_rows(string kind, int nth, string fault)
    {
        // A server that stops responding is detected only by the timeout.
        await using var database = OpenThroughProxy(fault == nameof(TdsFault.Silence) ? TimeSpan.FromSeconds(5) : TimeSpan.FromMinutes(1));
        var load = await StartAsync(database);
        var struck = _proxy.Strike(Enum.Parse<TdsRequest>(kind), nth, Enum.Parse<TdsFault>(fault));

        await CopyAsync(database, load);

        Assert.True(struck(), "the fault never struck: the test shows nothing");
        AssertWhole(load);
    }

    [Fact]
    public async Task Temporarily_refused_login_is_retried_without_losing_rows()
    {
        await using var database = OpenThroughProxy(TimeSpan.FromMinutes(1));
        var load = await StartAsync(database);
        SqlConnection.ClearAllPools();
        var refused = 0;
        _proxy.Decide = request =>
            request == TdsRequest.Login && Interlocked.Increment(ref refused) <= 3 ? TdsFault.RefuseLogin : TdsFault.None;

        await CopyAsync(database, load);

        Assert.True(refused > 3);
        AssertWhole(load);
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
        var load = await PreparedLoad.StartAsync(database, new IngestOptions { BatchRows = BatchRows, SliceRows = SliceRows });
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

    private void AssertWhole(LoadId load)
    {
        const int Rows = Batches * BatchRows;
        Assert.Equal(
            $"{Rows} rows, {Rows} positions from 1 to {Rows}, {Rows} right",
            TestServer.Scalar(shared.Name, $"""
                SELECT CONCAT(COUNT(*), ' rows, ', COUNT(DISTINCT position), ' positions from ', MIN(position), ' to ', MAX(position), ', ',
                    SUM(CASE WHEN alias = CONCAT('user', position) AND domain = CONCAT('domain', position % 7, '.example')
                        THEN 1 ELSE 0 END), ' right')
                FROM dbo.rows WHERE load_id = {load}
                """));
        var firsts = Enumerable.Range(0, Batches)
            .SelectMany(_ => (int[])[1, 1_501, 3_001], (batch, first) => (batch * BatchRows) + first).ToList();
        Assert.Equal(
            string.Join(' ', firsts.Zip(firsts.Skip(1).Append(Rows + 1)).Select((one, i) => $"{i + 1}:{one.First}-{one.Second - 1}")),
            TestServer.Scalar(shared.Name, $"""
                SELECT STRING_AGG(CONCAT(number, ':', first_position, '-', last_position), ' ') WITHIN GROUP (ORDER BY number)
                FROM dbo.slices WHERE load_id = {load}
                """));
    }
}
