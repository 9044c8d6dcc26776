using System.Net.Http.Headers;
using Azure.Core.Pipeline;
using Azure.Data.Tables;
using HibpIngest.Storage.Azure.Connections;
using HibpIngest.Storage.Azure.Tables;

namespace HibpIngest.Integration.Tests.AzureStorage;

/// <summary>Tests what happens to entities that another client changes, or adds properties to, while a mark is removed from them.</summary>
public sealed class TableRemovalTests : IAsyncLifetime, IDisposable
{
    private static readonly StorageOptions Quick = new()
    {
        MaxRetries = 3,
        RetryDelay = TimeSpan.FromMilliseconds(5),
        MaxRetryDelay = TimeSpan.FromMilliseconds(20),
    };

    private readonly List<IDisposable> _clients = [];
    private string _connection = "";
    private StorageAccount _other = null!;

    public async Task InitializeAsync()
    {
        _connection = await AzuriteFixture.NewAccountAsync();
        _other = StorageAccount.Open(_connection, NullLoggerFactory.Instance);
        await _other.Table.CreateAsync(None);
        await _other.Table.UpsertAsync("example.com", 1, "anna", "bert", "carl");
        await _other.Table.UpsertAsync("example.com", 2, "bert");
    }

    public Task DisposeAsync() => Task.CompletedTask;

    public void Dispose()
    {
        _other.Dispose();
        _clients.ForEach(client => client.Dispose());
    }

    [Theory]
    [InlineData("anna")]
    [InlineData("bert")]
    [InlineData("anna", "bert", "carl")]
    public async Task Entity_changed_concurrently_is_read_again(params string[] changed)
    {
        var transactions = 0;
        var table = Open(async (request, send) =>
        {
            if (IsTransaction(request) && ++transactions == 1)
                await _other.Table.UpsertAsync("example.com", 3, changed);
            return await send();
        });
        Assert.Equal(3, await table.RemoveMarkAsync("example.com", ["anna", "bert", "carl"], 1, None));
        await HasAsync(alias => [.. alias == "bert" ? [2] : Array.Empty<int>(), .. changed.Contains(alias) ? [3] : Array.Empty<int>()]);
        Assert.Equal(1, transactions);
    }

    [Fact]
    public async Task Entity_changed_repeatedly_is_processed_in_the_end()
    {
        var mark = 10;
        var table = Open(async (request, send) =>
        {
            if (mark < 15 && (IsTransaction(request) || request.Method == HttpMethod.Put || request.Method == HttpMethod.Delete))
                await _other.Table.UpsertAsync("example.com", mark++, "carl");
            return await send();
        });
        Assert.Equal(3, await table.RemoveMarkAsync("example.com", ["anna", "bert", "carl"], 1, None));
        await HasAsync(alias => alias switch { "bert" => [2], "carl" => [10, 11, 12, 13, 14], _ => [] });
    }

    [Fact]
    public async Task Entity_recreated_concurrently_keeps_its_new_marks()
    {
        var first = true;
        var table = Open(async (request, send) =>
        {
            if (IsTransaction(request) && first)
            {
                first = false;
                await _other.Table.RemoveMarkAsync("example.com", ["anna"], 1, None);
                await _other.Table.UpsertAsync("example.com", 3, "anna");
            }
            return await send();
        });
        Assert.Equal(2, await table.RemoveMarkAsync("example.com", ["anna", "bert", "carl"], 1, None));
        await HasAsync(alias => alias switch { "anna" => [3], "bert" => [2], _ => [] });
    }

    [Fact]
    public async Task Transaction_with_a_lost_response_takes_effect_once()
    {
        var lost = 0;
        var table = Open(async (request, send) =>
        {
            var answer = await send();
            if (!IsTransaction(request) || ++lost > 1)
                return answer;
            answer.Dispose();
            throw new HttpRequestException("the answer was lost");
        });
        await table.RemoveMarkAsync("example.com", ["anna", "bert", "carl"], 1, None);
        await HasAsync(alias => alias == "bert" ? [2] : []);
        Assert.InRange(lost, 2, int.MaxValue);
    }

    [Fact]
    public async Task Throttled_transaction_is_retried_until_it_succeeds()
    {
        const int Refusals = 20;
        var refused = 0;
        var table = Open((request, send) => IsTransaction(request) && refused++ < Refusals
            ? Task.FromResult(TooBusy())
            : send());
        Assert.Equal(3, await table.RemoveMarkAsync("example.com", ["anna", "bert", "carl"], 1, None));
        await HasAsync(alias => alias == "bert" ? [2] : []);
        Assert.Equal(Refusals + 1, refused);
    }

    [Fact]
    public async Task Wait_for_a_busy_service_ends_when_cancelled()
    {
        using var stop = new CancellationTokenSource();
        var refused = 0;
        var table = Open(async (request, send) =>
        {
            if (!IsTransaction(request))
                return await send();
            if (++refused == 3)
                await stop.CancelAsync();
            return TooBusy();
        });
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => table.RemoveMarkAsync("example.com", ["anna", "bert", "carl"], 1, stop.Token));
        await HasAsync(alias => alias == "bert" ? [1, 2] : [1]);
    }

    [Fact]
    public async Task Adjacent_rows_are_read_in_one_query()
    {
        // About as many as 20,000 accounts have hashes in each partition.
        string[] rows = [.. Enumerable.Range(0, 78).Select(number => $"user{number:D2}")];
        await _other.Table.UpsertAsync("together.example", 1, rows);
        var (one, query) = (0, 0);
        var table = Open((request, send) =>
        {
            if (request.Method == HttpMethod.Get)
                _ = request.RequestUri!.AbsolutePath.EndsWith("()", StringComparison.Ordinal) ? ++query : Interlocked.Increment(ref one);
            return send();
        });
        Assert.Equal(78, await table.RemoveMarkAsync("together.example", rows, 1, None));
        Assert.Equal((0, 1), (one, query));
    }

    [Fact]
    public async Task Removal_keeps_foreign_properties_of_an_entity()
    {
        var tables = Tables((_, send) => send());
        foreach (var alias in (string[])["anna", "carl"])
        {
            var other = new TableEntity("example.com", alias)
            {
                ["note"] = "kept {as} it is: ü \"quoted\"",
                ["since"] = new DateTimeOffset(2024, 2, 29, 23, 59, 58, 123, TimeSpan.Zero).AddTicks(4567),
                ["large"] = 9007199254740993,
                ["whole"] = 3.0,
                ["part"] = 0.25,
                ["count"] = 3,
                ["id"] = new Guid("6f1c1a52-3a6f-4a3e-9a43-0e6f7c0c9d11"),
                ["bytes"] = new byte[] { 0, 1, 255 },
                ["b12x"] = true,
                ["b7"] = false,
                ["b11"] = true,
            };
            await tables.MergeAsync(other, "test", None);
        }
        var before = await ReadAsync(tables, "anna");
        Assert.Equal(12, before.Count);

        // One transaction for both, and a single request.
        using var throttle = new WriteThrottle(TimeProvider.System);
        var table = new AccountTable(tables, Reads((_, send) => send()), throttle, NullLogger<AccountTable>.Instance);
        Assert.Equal(2, await table.RemoveMarkAsync("example.com", ["anna", "bert"], 1, None));
        Assert.Equal(1, await table.RemoveMarkAsync("example.com", ["carl"], 1, None));
        before.Remove("b1");
        Assert.Equal(before, await ReadAsync(tables, "anna"));
        Assert.Equal(before, await ReadAsync(tables, "carl"));
    }

    [Fact]
    public async Task Scan_resumes_from_its_token_and_restarts_if_it_is_rejected()
    {
        var queries = new List<string>();
        await using var server = await LoopbackServer.StartAsync((context, number, _) =>
        {
            queries.Add(Uri.UnescapeDataString(context.Request.QueryString.Value!));
            if (number is 1)
                return LoopbackServer.JsonAsync(context, 400, """{"odata.error":{"code":"InvalidInput"}}""");
            if (number is 0)
            {
                context.Response.Headers["x-ms-continuation-NextPartitionKey"] = "1!8!p+/=";
                context.Response.Headers["x-ms-continuation-NextRowKey"] = "1!8!r";
            }
            return LoopbackServer.JsonAsync(context, 200, """{"value":[]}""");
        });
        using var store = StorageAccount.Open(server.ConnectionString, NullLoggerFactory.Instance, Quick);
        var first = await store.Table.RemoveMarkAsync(5, 17, null, None);
        Assert.Equal(0, first.Changed);
        Assert.NotNull(first.Token);
        Assert.Null((await store.Table.RemoveMarkAsync(5, 17, first.Token, None)).Token);
        Assert.Equal(3, queries.Count);
        Assert.Contains("PartitionKey ge 'h' and PartitionKey lt 'i' and b5 eq true", queries[0], StringComparison.Ordinal);
        Assert.EndsWith("&NextPartitionKey=1!8!p+/=&NextRowKey=1!8!r", queries[1], StringComparison.Ordinal);
        Assert.Equal(queries[0], queries[2]);
        // A token as an earlier version wrote it.
        await store.Table.RemoveMarkAsync(5, 17, "&NextPartitionKey=1%218%21p&NextRowKey=1%218%21r", None);
        Assert.Equal(queries[0], queries[3]);
    }

    [Fact]
    public async Task Dense_accounts_are_read_in_pages_and_changed_in_transactions_of_100()
    {
        var aliases = Enumerable.Range(0, 1_000).Select(i => $"u{i:0000}").ToArray();
        foreach (var chunk in aliases.Chunk(100))
            await _other.Table.UpsertAsync("dense.example", 1, chunk);
        var requests = 0;
        var table = Open((_, send) =>
        {
            Interlocked.Increment(ref requests);
            return send();
        });
        Assert.Equal(1_000, await table.RemoveMarkAsync("dense.example", aliases, 1, None));
        Assert.InRange(requests, 11, 12);
    }

    /// <summary>Returns the service's response to a transaction when it is too busy.</summary>
    private static HttpResponseMessage TooBusy() => new(HttpStatusCode.Accepted)
    {
        Content = new StringContent(
            "--batchresponse_x\r\nContent-Type: multipart/mixed; boundary=changesetresponse_x\r\n\r\n"
            + "--changesetresponse_x\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
            + "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\r\n"
            + "{\"odata.error\":{\"code\":\"ServerBusy\"}}\r\n--changesetresponse_x--\r\n--batchresponse_x--\r\n")
        {
            Headers = { ContentType = MediaTypeHeaderValue.Parse("multipart/mixed; boundary=batchresponse_x") },
        },
    };

    private static bool IsTransaction(HttpRequestMessage request) =>
        request.RequestUri!.AbsolutePath.EndsWith("$batch", StringComparison.Ordinal);

    private async Task HasAsync(Func<string, int[]> marks)
    {
        foreach (var alias in (string[])["anna", "bert", "carl"])
            Assert.Equal(marks(alias), await _other.Accounts.GetMarksAsync(new Account(alias, "example.com"), 20, None));
    }

    private static async Task<SortedDictionary<string, object>> ReadAsync(StorageTable table, string alias)
    {
        var entity = (await table.FindAsync("example.com", alias, "test", None))!;
        var own = entity.Where(property => property.Key is not ("odata.etag" or "PartitionKey" or "RowKey" or "Timestamp"));
        return new(own.ToDictionary(), StringComparer.Ordinal);
    }

    private AccountTable Open(Around around)
    {
        var throttle = new WriteThrottle(TimeProvider.System);
        _clients.Add(throttle);
        return new AccountTable(Tables(around), Reads(around), throttle, NullLogger<AccountTable>.Instance);
    }

    private StorageTable Tables(Around around) =>
        new TableService(StorageConnection.Parse(_connection), null, Quick, new HttpClientTransport(Client(around))).Table("accounts");

    private PointReads Reads(Around around) => new(Client(around), StorageConnection.Parse(_connection), null, Quick);

    private HttpClient Client(Around around)
    {
        var client = new HttpClient(new AroundHandler(around));
        _clients.Add(client);
        return client;
    }
}
