using System.Net;
using System.Net.Sockets;
using System.Text;
using HibpIngest.AzureStorage;
using HibpIngest.Errors;
using HibpIngest.Functions;
using HibpIngest.Integration.Tests.Cli;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Integration.Tests.Functions;

/// <summary>
/// Every way out of a request is an answer that the host can make sense of: 200 with a JSON object when the
/// work is done, else a failure with one line. An empty success would hang the host.
/// </summary>
public sealed class AnswerTests : IAsyncLifetime
{
    private static readonly HostAnswer Well = new(200, "application/json", """{"status":"healthy"}""");

    private static readonly string[] Names =
        ["IngestBreach", "ResumeIngest", "UpsertSlice", "MatchSubscribers", "SendNotifications", "Sweep"];

    private readonly CollectingLogger _log = new();
    private FunctionsHost _host = null!;

    public async Task InitializeAsync() => _host = await FunctionsHost.StartAsync();

    public async Task DisposeAsync() => await _host.DisposeAsync();

    [Fact]
    public async Task Requests_that_are_no_calls_are_failures()
    {
        var bodies = new List<(string What, HttpContent? Content)>
        {
            ("nothing", null),
            ("an empty body", Json("")),
            ("no JSON", Json("hello")),
            ("half of it", Json("""{"Data":{"message":""")),
            ("null", Json("null")),
            ("an array", Json("[1]")),
            ("an empty object", Json("{}")),
            ("no data", Json("""{"Data":null,"Metadata":null}""")),
            ("another binding", Json("""{"Data":{"other":"\"x\""},"Metadata":{}}""")),
            ("a number", Json("""{"Data":{"message":1,"blob":1,"timer":1},"Metadata":{}}""")),
            ("text quoted once", Json("""{"Data":{"message":"hello"},"Metadata":{}}""")),
            ("a message that is no JSON", Json("""{"Data":{"message":"\"hello\""},"Metadata":{}}""")),
            ("a message with an address", Json(
                """{"Data":{"message":"\"somebody@example.com\""},"Metadata":{"x":"somebody@example.com"}}""")),
            ("half a character", Json("""{"Data":{"message":"\"\\ud800\""},"Metadata":{}}""")),
            ("a message of another version", Json(
                """{"Data":{"message":"\"{\\\"version\\\":99,\\\"load\\\":1,\\\"slice\\\":1}\""},"Metadata":{}}""")),
            ("a blob without a name", Json("""{"Data":{"blob":{}},"Metadata":{}}""")),
            ("a blob that is two", Json(
                """{"Data":{"blob":{}},"Metadata":{"name":"\"A\"","Uri":"\"http://127.0.0.1/x/breach/B.zip\""}}""")),
            ("a blob of another container", Json(
                """{"Data":{"blob":{}},"Metadata":{"name":"\"A\"","Uri":"\"http://127.0.0.1/x/other/A.zip\""}}""")),
            ("deep nesting", Json(new string('[', 5_000))),
            ("the wrong content type", new StringContent(
                """{"Data":{"message":"\"x\"","timer":{}},"Metadata":{}}""", Encoding.UTF8, "text/plain")),
            ("no content type", new ByteArrayContent("""{"Data":{"message":"\"x\"","timer":{}},"Metadata":{}}"""u8.ToArray())),
            ("a message longer than a queue takes", Json($$$"""{"Data":{"message":"\"{{{new string('x', 65_537)}}}\""},"Metadata":{}}""")),
        };
        foreach (var name in Names)
        {
            foreach (var (what, content) in bodies)
            {
                foreach (var chunked in new[] { false, true })
                {
                    var request =
                        new HttpRequestMessage(
                            HttpMethod.Post, new Uri(_host.Handler.Address, name))
                        {
                            Content = content is null
                            ? null : await CopyAsync(content)
                        };
                    request.Headers.TransferEncodingChunked = chunked && content is not null;
                    var reason = (await _host.SendAsync(request)).AssertFailed();
                    Assert.True(reason.Length < 400, $"{name}, {what}: {reason}");
                }
            }
        }
        await _host.StopHandlerAsync();
        Assert.DoesNotContain('@', _host.Handler.Said);
    }

    [Fact]
    public async Task A_blobs_content_is_not_taken()
    {
        foreach (var chunked in new[] { false, true })
        {
            var request =
                new HttpRequestMessage(
                    HttpMethod.Post, new Uri(_host.Handler.Address, "IngestBreach"))
                {
                    Content = Json(
                        $$$"""{"Data":{"blob":"{{{new string('x', 20_000_000)}}}"},"Metadata":{}}""")
                };
            request.Headers.TransferEncodingChunked = chunked;
            try
            {
                Assert.Contains("deferred", (await _host.SendAsync(request)).AssertFailed(), StringComparison.Ordinal);
            }
            catch (HttpRequestException)
            {
                // Dropped while it was still being sent: a failure to the host too.
            }
        }
        await _host.StopHandlerAsync();
        Assert.Equal(2, _host.Handler.Said.Split("ask for deferred binding").Length - 1);
    }

    [Theory]
    [InlineData("GET", "IngestBreach")]
    [InlineData("PUT", "UpsertSlice")]
    [InlineData("OPTIONS", "Sweep")]
    [InlineData("DELETE", "ResumeIngest")]
    [InlineData("POST", "NoSuchFunction")]
    [InlineData("POST", "UpsertSlice/more")]
    [InlineData("POST", "api/UpsertSlice")]
    [InlineData("POST", "somebody@example.com")]
    [InlineData("POST", "api/health")]
    [InlineData("POST", "")]
    [InlineData("GET", "admin/host/status")]
    public async Task Unknown_functions_and_methods_are_failures(string method, string path)
    {
        var call = HostRequests.Message(_host.Handler.Address, "UpsertSlice", "{}", "1", 1);
        var request = new HttpRequestMessage(
            HttpMethod.Parse(method), new Uri(_host.Handler.Address, path))
        { Content = method == "GET" ? null : call.Content };
        Assert.Contains("no function", (await _host.SendAsync(request)).AssertFailed(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task What_is_no_HTTP_gets_no_success()
    {
        foreach (var sent in new[] { "hello\r\n\r\n", "POST /UpsertSlice HTTP/1.1\r\n\r\n", "POST /Sweep HTTP/1.1\r\nHost: "
            + "x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "POST /Sweep HTTP/1.1\r\nHost: "
            + "x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{}" })
        {
            using var socket = new TcpClient();
            await socket.ConnectAsync(IPAddress.Loopback, _host.Handler.Address.Port);
            var stream = socket.GetStream();
            await stream.WriteAsync(Encoding.ASCII.GetBytes(sent));
            socket.Client.Shutdown(SocketShutdown.Send);
            var answer = "";
            try
            {
                answer = await new StreamReader(stream).ReadToEndAsync();
            }
            catch (IOException)
            {
                // Reset: a failure to the host.
            }
            Assert.True(
                answer.Length == 0 || answer.StartsWith("HTTP/1.1 4", StringComparison.Ordinal)
                || answer.StartsWith("HTTP/1.1 500", StringComparison.Ordinal), $"{sent}: {answer}");
        }
    }

    [Fact]
    public async Task The_start_probe_and_the_timer_and_messages_of_what_is_gone_are_answered_with_an_object()
    {
        var probe = await _host.SendAsync(HostRequests.Probe(_host.Handler.Address));
        Assert.True(probe.Succeeded, probe.ToString());
        (await _host.PostTimerAsync()).AssertDone();
        (await _host.PostMessageAsync("UpsertSlice", """{"version":1,"load":17,"slice":42,"first":410001,"last":420000}""")).AssertDone();
        (await _host.PostMessageAsync("MatchSubscribers", """{"version":1,"load":17}""")).AssertDone();
        (await _host.PostMessageAsync("SendNotifications", """{"version":1,"load":17,"first":1,"last":2}""")).AssertDone();
        (await _host.PostMessageAsync("ResumeIngest", """{"version":1,"load":17}""")).AssertDone();
        (await _host.PostBlobAsync("Gone.zip")).AssertDone();
    }

    [Fact]
    public async Task What_lies_beside_a_breach_is_acknowledged_and_nothing_is_kept_of_it()
    {
        (await _host.PostTimerAsync()).AssertDone(); // sets the stores up
        foreach (var blob in new[] { "Adobe.json", "2013/Adobe.2.PNG", "readme", "Adobe.7z", "somebody@example.com.json" })
        {
            await _host.DropAsync(blob, "{}"u8.ToArray());
            (await _host.PostBlobAsync(blob)).AssertDone();
        }
        using var account = StorageAccount.Open(_host.Storage, NullLoggerFactory.Instance);
        var version = (await account.Blobs.FindAsync("Adobe.json", CancellationToken.None))!.Version;
        Assert.False(await account.Register.HasReceiptAsync(version, CancellationToken.None));
        Assert.Empty(await account.Register.ListOpenAsync(CancellationToken.None));
        Assert.Empty((await _host.HibpAsync("status", "--json")).Succeeded().Json.GetProperty("loads").EnumerateArray());
        // One that is a breach by its name is one.
        (await _host.IngestAsync("2013/Adobe.2.csv", "a@example.com"u8.ToArray())).AssertDone();
        var load = Assert.Single((await _host.HibpAsync("status", "--json")).Succeeded().Json.GetProperty("loads").EnumerateArray());
        Assert.Equal(("Adobe", 1), (load.GetProperty("breach").GetString(), load.GetProperty("accounts").GetInt32()));
    }

    [Fact]
    public async Task Health_says_whether_and_nothing_else()
    {
        // The sweep sets fresh stores up.
        (await _host.PostTimerAsync()).AssertDone();
        Assert.Equal(Well, await Probe.AskUntilAsync(Well, _host.HealthAsync));
        await _host.StartHandlerAsync(null, ("HIBP_STORAGE", Unreachable));
        Assert.Equal(new HostAnswer(503, "application/json", """{"status":"unhealthy"}"""), await _host.HealthAsync());
    }

    [Fact]
    public async Task Health_is_well_on_fresh_stores_and_leaves_them_as_they_are()
    {
        Assert.Equal(Well, await Probe.AskUntilAsync(Well, _host.HealthAsync));
        // Anybody may ask: it neither sets the stores up nor wakes the database.
        Assert.False(File.Exists(_host.DatabaseFile));
        using (var account = StorageAccount.Open(_host.Storage, NullLoggerFactory.Instance))
            Assert.Contains(
                "TableNotFound",
                (await Assert.ThrowsAsync<StoreMissingException>(() => account.Register.GetIdentityAsync(CancellationToken.None))).Message,
                StringComparison.Ordinal);

        await _host.StartHandlerAsync(null, ("HIBP_STORAGE", OtherKey));
        Assert.Equal(503, (await _host.HealthAsync()).Status);
    }

    [Fact]
    public async Task Health_asks_no_database_whether_or_not_a_load_is_open()
    {
        (await _host.PostTimerAsync()).AssertDone(); // sets the stores up
        await _host.StartHandlerAsync(null, ("HIBP_DATABASE", "/proc/self/mem")); // opens, and gives an I/O error when it is read
        Assert.Equal(200, (await _host.HealthAsync()).Status);

        using (var account = StorageAccount.Open(_host.Storage, NullLoggerFactory.Instance))
            await account.Register.MarkOpenAsync(17, CancellationToken.None);
        await _host.StartHandlerAsync(); // whose answer isn't kept from before
        Assert.Equal(200, (await _host.HealthAsync()).Status);
        Assert.Contains("/proc/self/mem", (await _host.PostTimerAsync()).AssertFailed(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("HIBP_DATABASE", "", "HIBP_DATABASE")]
    [InlineData("HIBP_MAIL", "", "HIBP_MAIL")]
    [InlineData("HIBP_STORAGE", "", "HIBP_STORAGE")]
    [InlineData("HIBP_BATCHROWS", "many", "HIBP_BATCHROWS")]
    [InlineData("HIBP_SECRET_KEY", "short", "HIBP_SECRET_KEY")]
    public async Task Wrong_settings_are_the_answer_to_every_call_and_no_exit(string variable, string value, string named)
    {
        await _host.StartHandlerAsync(null, (variable, value));
        Assert.Contains(named, (await _host.PostTimerAsync()).AssertFailed(), StringComparison.Ordinal);
        Assert.Contains(named, (await _host.PostBlobAsync("A.zip")).AssertFailed(), StringComparison.Ordinal);
        Assert.Contains(
            named, (await _host.PostMessageAsync("UpsertSlice", """{"version":1,"load":17,"slice":42}"""))
            .AssertFailed(), StringComparison.Ordinal);
        Assert.Equal(503, (await _host.HealthAsync()).Status);
        await _host.StopHandlerAsync();
        Assert.Contains(named, _host.Handler.Said, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_database_that_is_down_costs_no_try_and_a_sweep_at_rest_does_without_it()
    {
        (await _host.PostTimerAsync()).AssertDone(); // sets the stores up
        await _host.DropAsync("A.zip", [1, 2, 3]);
        await _host.StartHandlerAsync(null, ("HIBP_DATABASE", "/proc/self/mem")); // opens, and gives an I/O error when it is read

        (await _host.PostTimerAsync()).AssertDone();
        (await _host.PostMessageAsync("MatchSubscribers", """{"version":1,"load":17}""")).AssertDone();
        (await _host.PostBlobAsync("A.zip")).AssertDone();
        // Both are sent again for later, and can't be seen until then.
        foreach (var queue in new[] { "breach-match", "breach-ingest" })
        {
            Assert.Equal(1, (await _host.Queue(queue).GetPropertiesAsync()).Value.ApproximateMessagesCount);
            Assert.Empty((await _host.Queue(queue).PeekMessagesAsync(32)).Value);
        }

        using (var account = StorageAccount.Open(_host.Storage, NullLoggerFactory.Instance))
            await account.Register.MarkOpenAsync(17, CancellationToken.None);
        Assert.Contains("/proc/self/mem", (await _host.PostTimerAsync()).AssertFailed(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_store_that_refuses_is_a_failure_and_no_exit()
    {
        await _host.StartHandlerAsync(null, ("HIBP_STORAGE", OtherKey));
        Assert.Contains("403", (await _host.PostTimerAsync()).AssertFailed(), StringComparison.Ordinal);
        Assert.Contains("403", (await _host.PostBlobAsync("A.zip")).AssertFailed(), StringComparison.Ordinal);
        Assert.Contains(
            "403", (await _host.PostMessageAsync("UpsertSlice", """{"version":1,"load":17,"slice":42}"""))
            .AssertFailed(), StringComparison.Ordinal);
        Assert.Equal(200, (await _host.SendAsync(HostRequests.Probe(_host.Handler.Address))).Status);
    }

    [Fact]
    public async Task Without_its_port_it_says_how_it_is_run()
    {
        using var folder = new TemporaryFolder();
        foreach (var port in new[] { "", "http", "0", "70000" })
        {
            var (exitCode, said) = await HandlerProcess.RunAsync(
                folder.Path, new Dictionary<string, string> { ["FUNCTIONS_CUSTOMHANDLER_PORT"] = port });
            Assert.Equal(1, exitCode);
            Assert.Contains("FUNCTIONS_CUSTOMHANDLER_PORT", said, StringComparison.Ordinal);
            Assert.Contains("hibp run", said, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task It_listens_on_the_loopback_interface_only()
    {
        await _host.StartHandlerAsync(
            null, ("ASPNETCORE_URLS", "http://0.0.0.0:0"), ("DOTNET_URLS", "http://0.0.0.0:0"),
            ("Kestrel__Endpoints__More__Url", "http://0.0.0.0:0"));
        var listening = System.Net.NetworkInformation.IPGlobalProperties.GetIPGlobalProperties().GetActiveTcpListeners().Where(
            end => end.Port == _host.Handler.Address.Port);
        Assert.Equal([IPAddress.Loopback], listening.Select(end => end.Address));
        await _host.StopHandlerAsync();
        Assert.DoesNotContain("0.0.0.0", _host.Handler.Said, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Whatever_is_thrown_anywhere_is_a_failure_that_repeats_nothing()
    {
        Assert.Equal(
            (500, "what we say ourselves"), await GuardAsync(_ => throw new StoreUnavailableException("what we say\r\nourselves")));
        Assert.Equal(
            (500, "unexpected InvalidOperationException; the handler's log says where"), await GuardAsync(
                _ => throw new InvalidOperationException("somebody@example.com")));
        Assert.Equal(
            500, (await GuardAsync(_ => Task.FromException(new AggregateException(new IOException("somebody@example.com"))))).Status);
        Assert.Contains("stopped", (await GuardAsync(_ => throw new OperationCanceledException())).Body, StringComparison.Ordinal);
        Assert.Contains("stopped", (await GuardAsync(_ => throw new TaskCanceledException())).Body, StringComparison.Ordinal);
        // A status alone, as a piece of middleware might set it, is no answer.
        foreach (var status in new[] { 200, 202, 204, 404, 405 })
        {
            Assert.Equal((500, "nothing answered this request"), await GuardAsync(context =>
            {
                context.Response.StatusCode = status;
                return Task.CompletedTask;
            }));
        }
        Assert.DoesNotContain(_log.Lines, line => line.Text.Contains('@', StringComparison.Ordinal));
        Assert.Contains(
            _log.Lines, line => line.Event == 9040 && line.Text.Contains(nameof(InvalidOperationException), StringComparison.Ordinal));
    }

    // Port 9 (discard) of this machine: nothing listens there.
    private static string Unreachable =>
        "DefaultEndpointsProtocol=http;AccountName=nobody;AccountKey=QQ==;BlobEndpoint=http://127.0.0.1:9/nobody;"
        + "QueueEndpoint=http://127.0.0.1:9/nobody;TableEndpoint=http://127.0.0.1:9/nobody;";

    private string OtherKey => System.Text.RegularExpressions.Regex.Replace(
        _host.Storage, "AccountKey=[^;]*", "AccountKey=QQ==", default, TimeSpan.FromSeconds(1));

    private async Task<(int Status, string Body)> GuardAsync(RequestDelegate next)
    {
        using var body = new MemoryStream();
        var context = new DefaultHttpContext();
        context.Features.Set<IHttpResponseBodyFeature>(new StreamResponseBodyFeature(body));
        await Answers.GuardAsync(context, next, _log);
        await context.Response.BodyWriter.FlushAsync();
        return (context.Response.StatusCode, Encoding.UTF8.GetString(body.ToArray()));
    }

    private static StringContent Json(string text) => new(text, Encoding.UTF8, "application/json");

    private static async Task<HttpContent> CopyAsync(HttpContent content)
    {
        var copy = new ByteArrayContent(await content.ReadAsByteArrayAsync());
        copy.Headers.ContentType = content.Headers.ContentType;
        return copy;
    }
}
