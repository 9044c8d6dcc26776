using System.Diagnostics.Metrics;
using System.Net.Sockets;
using HibpIngest.Storage.Azure.Connections;
using HibpIngest.Storage.Azure.Tables;
using Microsoft.AspNetCore.Http.Features;

namespace HibpIngest.Tests.AzureStorage;

public sealed class TableFaultTests
{
    private const string Busy = """{"odata.error":{"code":"ServerBusy","message":{"lang":"","value":"busy"}}}""";

    private static readonly StorageOptions Quick =
        new() { MaxRetries = 3, RetryDelay = TimeSpan.FromMilliseconds(5), MaxRetryDelay = TimeSpan.FromMilliseconds(20) };

    [Fact]
    public async Task Throttled_transaction_is_retried_and_counted()
    {
        long throttled = 0;
        using var meters = new MeterListener
        {
            InstrumentPublished = (published, self) =>
            {
                if (published.Meter == HibpTelemetry.Meter && published.Name == "hibp.table.throttled")
                    self.EnableMeasurementEvents(published);
            },
        };
        meters.SetMeasurementEventCallback<long>((_, value, _, _) => Interlocked.Add(ref throttled, value));
        meters.Start();
        await using var server = await LoopbackServer.StartAsync(
            (context, number, body) =>
                number < 2 ? LoopbackServer.FailAsync(context, 503, "ServerBusy", 1) : LoopbackServer.AcceptAsync(context, body));
        await Open(server).Table.UpsertAsync("example.com", 1, "anna", "bert");
        Assert.Equal(3, server.Requests.Count);
        Assert.Single(server.Requests.Distinct());
        Assert.InRange(Interlocked.Read(ref throttled), 2, long.MaxValue);
    }

    [Theory]
    [InlineData(503, "ServerBusy")]
    [InlineData(500, "OperationTimedOut")]
    [InlineData(429, "TooManyRequests")]
    public async Task Throttled_transaction_is_retried_until_the_timeout(int status, string code)
    {
        var requests = 3 * Quick.MaxRetries;
        using var timeout = new CancellationTokenSource();
        await using var server = await LoopbackServer.StartAsync(async (context, number, _) =>
        {
            await LoopbackServer.FailAsync(context, status, code, 1);
            if (number + 1 == requests)
                await timeout.CancelAsync();
        });
        var inFlight = new TransactionsInFlight(1, timeout.Token);
        var error = await Assert.ThrowsAsync<StoreThrottledException>(
            () => Open(server).Table.UpsertAsync("example.com", 1, inFlight, "anna", "bert", "carl"));
        Assert.Equal($"upsert of 3 accounts (number 2 of them) failed: status {status} ({code})", error.Message);
        Assert.InRange(server.Requests.Count, requests, requests + 1);
    }

    [Theory]
    [InlineData("anna")]
    [InlineData("anna", "bert")]
    public async Task Busy_partition_does_not_delay_others(params string[] aliases)
    {
        using var timeout = new CancellationTokenSource();
        var refused = new TaskCompletionSource();
        await using var server = await LoopbackServer.StartAsync(async (context, number, body) =>
        {
            if (!(context.Request.Path + body).Contains("example.com", StringComparison.Ordinal))
            {
                await Accept(context, body);
                return;
            }
            if (number > 0)
                refused.TrySetResult();
            if (context.Request.Method == "POST")
                await LoopbackServer.FailAsync(context, 503, "ServerBusy", 0);
            else
                await LoopbackServer.JsonAsync(context, 503, Busy);
        });
        var table = Open(server).Table;
        var inFlight = new TransactionsInFlight(1, timeout.Token); // one place, which the busy one gives up
        var busy = table.UpsertAsync("example.com", 1, inFlight, aliases);
        await refused.Task;
        for (var i = 0; i < 20; i++)
            await table.UpsertAsync("example.org", 1, inFlight, aliases);
        Assert.False(busy.IsCompleted);
        await timeout.CancelAsync();
        await Assert.ThrowsAsync<StoreThrottledException>(() => busy);
    }

    [Theory]
    [InlineData(400, "PropertyNameInvalid", typeof(StoreRefusedException))]
    [InlineData(403, "AuthorizationFailure", typeof(StoreRefusedException))]
    [InlineData(404, "TableNotFound", typeof(StoreMissingException))]
    [InlineData(507, "AccountCapacityExceeded", typeof(StoreFullException))]
    public async Task Refused_transaction_is_not_retried(int status, string code, Type expected)
    {
        await using var server = await LoopbackServer.StartAsync((context, _, _) => LoopbackServer.FailAsync(context, status, code, 0));
        var error = await Assert.ThrowsAsync(expected, () => Open(server).Table.UpsertAsync("example.com", 1, "anna", "bert"));
        Assert.Equal($"upsert of 2 accounts (number 1 of them) failed: status {status} ({code})", error.Message);
        Assert.Single(server.Requests);
    }

    [Theory]
    [InlineData("anna")]
    [InlineData("anna", "bert")]
    public async Task Request_to_a_busy_service_is_retried(params string[] aliases)
    {
        await using var server = await LoopbackServer.StartAsync(async (context, number, body) =>
        {
            if (number >= 2)
            {
                await Accept(context, body);
                return;
            }

            context.Response.Headers.RetryAfter = "0";
            await LoopbackServer.JsonAsync(context, 503, Busy);
        });
        await Open(server).Table.UpsertAsync("example.com", 1, aliases);
        Assert.Equal(3, server.Requests.Count);
    }

    [Theory]
    [InlineData("anna")]
    [InlineData("anna", "bert")]
    public async Task Lost_connection_is_retried_and_then_reported_as_unavailable(params string[] aliases)
    {
        var lost = 2;
        await using var server = await LoopbackServer.StartAsync(async (context, number, body) =>
        {
            if (number < lost)
                context.Abort();
            else
                await Accept(context, body);
        });
        var store = Open(server);
        await store.Table.UpsertAsync("example.com", 1, aliases);
        Assert.Equal(3, server.Requests.Count);

        lost = int.MaxValue;
        var error = await Assert.ThrowsAsync<UnavailableException>(() => store.Table.UpsertAsync("example.com", 1, aliases));
        Assert.StartsWith($"upsert of {aliases.Length} account", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Truncated_response_is_retried()
    {
        const string Part = "--r\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n";
        var responses = 0;
        await using var server = new LoopbackListener(async (client, cancellationToken) =>
        {
            var stream = client.GetStream();
            var request = "";
            var buffer = new byte[8192];
            while (!request.EndsWith("--batch_h--\r\n", StringComparison.Ordinal)
                && await stream.ReadAsync(buffer, cancellationToken) is > 0 and var read)
                request += Encoding.ASCII.GetString(buffer, 0, read);
            // Each response announces two parts; the first one ends correctly after one.
            await stream.WriteAsync(Encoding.ASCII.GetBytes("HTTP/1.1 202 Accepted\r\nContent-Length: "
                + $"{2 * Part.Length}\r\n\r\n{string.Concat(Enumerable.Repeat(Part, ++responses))}"), cancellationToken);
        });
        using var store = StorageAccount.Open(
            ConnectionStrings.Of($"http://127.0.0.1:{server.Port}"), NullLoggerFactory.Instance, Quick);
        await store.Table.UpsertAsync("example.com", 1, "anna", "bert");
        Assert.Equal(2, responses);
    }

    [Fact]
    public async Task Transaction_is_written_in_the_documented_format()
    {
        await using var server = await LoopbackServer.StartAsync((context, _, body) => LoopbackServer.AcceptAsync(context, body));
        await Open(server).Table.UpsertAsync("example.com", 751, "anna+news", "b_t");
        var table = new Uri(server.ConnectionString.Split("TableEndpoint=")[1]) + "/accounts";
        string Part(string alias) => $$"""
            --cs_h
            Content-Type: application/http
            Content-Transfer-Encoding: binary

            PATCH {{table}}(PartitionKey='example.com',RowKey='{{alias}}%213') HTTP/1.1
            Accept: application/json;odata=nometadata
            Content-Type: application/json
            DataServiceVersion: 3.0

            {"b751":true}

            """;
        var expected = "POST /loopback/$batch\n--batch_h\nContent-Type: multipart/mixed; boundary=cs_h\n\n" + Part("anna%2Bnews")
            + Part("b_t") + "--cs_h--\n--batch_h--\n";
        Assert.Equal(expected, Assert.Single(server.Requests).ReplaceLineEndings("\n"));
        var body = server.Requests[0][(server.Requests[0].IndexOf('\n', StringComparison.Ordinal) + 1)..];
        Assert.Equal(body.ReplaceLineEndings("\r\n"), body);
    }

    [Fact]
    public async Task Plus_sign_is_encoded_in_every_request_line()
    {
        var targets = new ConcurrentQueue<string>();
        await using var server = await LoopbackServer.StartAsync((context, _, _) =>
        {
            targets.Enqueue(context.Features.Get<IHttpRequestFeature>()!.RawTarget);
            return LoopbackServer.JsonAsync(
                context, context.Request.Method == "PATCH" ? 204 : 200, context.Request.Method == "PATCH" ? "" : "{}");
        });
        await Open(server).Table.UpsertAsync("example.com", 1, "anna+news");
        await Open(server).Accounts.GetMarksAsync(new Account("anna+news", "example.com"), 1, CancellationToken.None);
        Assert.Equal(2, targets.Count);
        Assert.All(targets, target => Assert.Equal(
            "/loopback/accounts(PartitionKey='example.com',RowKey='anna%2Bnews')", target.Split('?')[0]));
    }

    [Fact]
    public async Task Refused_connection_is_reported_as_unavailable()
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        var at = $"http://{listener.LocalEndpoint}";
        listener.Stop();
        using var store = StorageAccount.Open(ConnectionStrings.Of(at), NullLoggerFactory.Instance, Quick);
        Func<Task>[] calls =
        [
            () => store.Table.UpsertAsync("example.com", 1, "anna", "bert"),
            () => store.Accounts.GetMarksAsync(new Account("anna", "example.com"), 1, CancellationToken.None),
            () => store.Queues.Get("breach-test").SendAsync("{}", TimeSpan.Zero, CancellationToken.None),
            () => store.Blobs.FindAsync("a.zip", CancellationToken.None),
        ];
        foreach (var call in calls)
        {
            var error = await Assert.ThrowsAsync<UnavailableException>(call);
            Assert.EndsWith("failed: no connection (ConnectionRefused)", error.Message, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task Service_that_does_not_respond_is_reported_as_unavailable()
    {
        using var over = new CancellationTokenSource();
        await using var server = await LoopbackServer.StartAsync(
            (context, _, _) => Task.Delay(Timeout.Infinite, over.Token).ContinueWith(_ => { }, TaskScheduler.Default));
        using var store = StorageAccount.Open(server.ConnectionString, NullLoggerFactory.Instance, new StorageOptions
        {
            MaxRetries = 1,
            RetryDelay = TimeSpan.FromMilliseconds(5),
            NetworkTimeout = TimeSpan.FromMilliseconds(200),
        });
        var error = await Assert.ThrowsAsync<UnavailableException>(() => store.Table.UpsertAsync("example.com", 1, "anna", "bert"));
        Assert.Equal("upsert of 2 accounts failed: no response in time", error.Message);
        await over.CancelAsync();
    }

    /// <summary>A single abandoned append would refuse every request that must be logged.</summary>
    [Fact]
    public async Task Access_log_append_outlasts_the_network_timeout_of_reads()
    {
        var readEnded = new TaskCompletionSource();
        await using var server = await LoopbackServer.StartAsync(async (context, _, _) =>
        {
            await readEnded.Task;
            context.Response.StatusCode = context.Request.Method == "PUT" ? 201 : 200;
        });
        using var store = StorageAccount.Open(server.ConnectionString, NullLoggerFactory.Instance, new StorageOptions
        {
            MaxRetries = 0,
            NetworkTimeout = TimeSpan.FromMilliseconds(200),
            AppendTimeout = TimeSpan.FromMinutes(1),
        });
        var append = store.AccessLog.AppendAsync("2026112304/a.log", 0, new byte[128], CancellationToken.None);
        await Assert.ThrowsAsync<UnavailableException>(
            () => store.Blobs.FindAsync("a", CancellationToken.None).WaitAsync(TimeSpan.FromSeconds(30)));
        Assert.False(append.IsCompleted);
        readEnded.SetResult();
        Assert.Equal(BlockAppend.Appended, await append.WaitAsync(TimeSpan.FromSeconds(30)));
    }

    [Theory]
    [InlineData("")]
    [InlineData("<html>welcome to the hotel's network</html>")]
    [InlineData("--batchresponse_1\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n--batchresponse_1--")]
    [InlineData("HTTP/1.1 xyz\r\nHTTP/1.1 2")]
    public async Task Response_that_does_not_cover_every_account_is_no_success(string answer)
    {
        await using var server = await LoopbackServer.StartAsync(async (context, _, _) =>
        {
            context.Response.StatusCode = 202;
            await context.Response.Body.WriteAsync(Encoding.UTF8.GetBytes(answer));
        });
        var error = await Assert.ThrowsAsync<UnavailableException>(() => Open(server).Table.UpsertAsync("example.com", 1, "anna", "bert"));
        Assert.StartsWith(
            "upsert of 2 accounts failed: the response is not from the table service", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Listing_continues_after_an_empty_page()
    {
        await using var server = await LoopbackServer.StartAsync(async (context, number, _) =>
        {
            if (number < 2)
            {
                context.Response.Headers["x-ms-continuation-NextPartitionKey"] = $"1!8!p+/{number}=";
                context.Response.Headers["x-ms-continuation-NextRowKey"] = "1!8!r";
            }

            await LoopbackServer.JsonAsync(
                context, 200, number == 0 ? """{"value":[]}""" : $$"""{"value":[{"RowKey":"user{{number}}!1","b300":true}]}""");
        });
        var aliases = new List<string>();
        await foreach (var alias in Open(server).Table.ListAliasesAsync("example.com", [300], CancellationToken.None))
            aliases.Add(alias);
        Assert.Equal(["user1", "user2"], aliases);
        Assert.Contains("NextPartitionKey=1%218%21p%2B%2F1%3D&NextRowKey=1%218%21r", server.Requests[2], StringComparison.Ordinal);
    }

    private static Task Accept(Microsoft.AspNetCore.Http.HttpContext context, string body)
    {
        if (context.Request.Method == "POST")
            return LoopbackServer.AcceptAsync(context, body);
        context.Response.StatusCode = 204;
        return Task.CompletedTask;
    }

    private static StorageAccount Open(LoopbackServer server) =>
        StorageAccount.Open(server.ConnectionString, NullLoggerFactory.Instance, Quick);
}
