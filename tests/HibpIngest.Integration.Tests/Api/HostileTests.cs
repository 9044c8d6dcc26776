namespace HibpIngest.Integration.Tests.Api;

public sealed class HostileTests(WebFixture fixture, ITestOutputHelper output) : IClassFixture<WebFixture>
{
    private const int Requests = 10_000;
    private const int Connections = 8;
    private const int IdleConnections = 5_000;
    private const int Shown = 300;
    private const long Megabyte = 1 << 20;

    /// <summary>Memory that the garbage collector may not have released yet.</summary>
    private const long FlatBytes = 64 * Megabyte;

    /// <summary>A connection's buffers and objects: 9 to 13 KB were measured.</summary>
    private const long MaxPerIdleConnection = 40 * 1024;

    /// <summary>The server disconnects after 10 s (it checks once a second); the rest is a margin for a busy machine.</summary>
    private static readonly TimeSpan DisconnectedWithin = TimeSpan.FromSeconds(40);

    [Fact]
    public async Task Malformed_requests_get_their_expected_status_and_leak_no_memory()
    {
        using var folder = new TemporaryFolder();
        await using var server = await ServeAsync(folder.Path);
        var port = PortOf(server);
        var seed = Environment.TickCount & 0xFFFFFF;
        output.WriteLine($"seed {seed}");
        var key = await fixture.Web.AddKeyAsync("odd", KeyScopes.Search | KeyScopes.Range | KeyScopes.Domains, 1_000_000, "example.com");

        await SendAllAsync(port, seed, key);
        var before = Memory(server.Id);
        await SendAllAsync(port, seed + 1, key);
        var after = Memory(server.Id);
        output.WriteLine($"{before / Megabyte} MB after {Requests:N0} malformed requests, {after / Megabyte} MB after as many again");
        Assert.True(after - before < FlatBytes, $"{before / Megabyte} MB grew to {after / Megabyte} MB");
        await AssertServesAsync(port, key);
    }

    [Fact]
    public async Task Idle_connections_cost_little_memory_and_release_it_when_closed()
    {
        using var folder = new TemporaryFolder();
        await using var server = await ServeAsync(folder.Path);
        var port = PortOf(server);
        for (var i = 0; i < 200; i++)
            await AssertServesAsync(port, fixture.Key);
        var alone = Memory(server.Id);
        var withIdle = new List<long>();
        for (var round = 0; round < 2; round++)
        {
            using var idle = StartIdle(port);
            var said = (await idle.StandardOutput.ReadLineAsync())!.Split(' ');
            Assert.True(
                int.Parse(said[0], CultureInfo.InvariantCulture) == IdleConnections,
                $"{said[0]} of {IdleConnections} connections were opened, then: {said[1]}; if that is EMFILE, raise the limit of open "
                + "files (ulimit -n) of the test run");
            await AssertServesAsync(port, fixture.Key);
            withIdle.Add(Memory(server.Id));
            idle.StandardInput.Close();
            await idle.WaitForExitAsync();
            await AssertServesAsync(port, fixture.Key);
        }
        output.WriteLine(
            $"{alone / Megabyte} MB alone, {string.Join(" and ", withIdle.Select(one => one / Megabyte))} MB with {IdleConnections:N0}");
        Assert.True(
            withIdle[0] - alone < (IdleConnections * MaxPerIdleConnection), $"{alone / Megabyte} MB grew to {withIdle[0] / Megabyte} MB");
        Assert.True(withIdle[1] - withIdle[0] < FlatBytes, $"{withIdle[0] / Megabyte} MB grew to {withIdle[1] / Megabyte} MB");
    }

    [Fact]
    public async Task Slow_header_is_disconnected_without_delaying_other_clients()
    {
        var began = Stopwatch.GetTimestamp();
        var drips = Enumerable.Range(0, 50).Select(_ => DripAsync(fixture.Web.Address.Port)).ToList();
        var answered = 0;
        while (drips.All(drip => !drip.IsCompleted))
        {
            await AssertServesAsync(fixture.Web.Address.Port, fixture.Key);
            answered++;
            Assert.True(Stopwatch.GetElapsedTime(began) < DisconnectedWithin, "the slow connections are still open");
            // Fewer requests than the key allows.
            await Task.Delay(20);
        }
        Assert.True(answered > 1, "other clients waited");
        await Task.WhenAll(drips);
        Assert.True(Stopwatch.GetElapsedTime(began) > TimeSpan.FromSeconds(9), "slow clients were disconnected before the limit of 10 s");
    }

    [Fact]
    public async Task Response_repeats_no_header_that_a_client_can_forge()
    {
        using var connection = new RawConnection(fixture.Web.Address.Port);
        foreach (var path in (string[])["/api/v3/breaches", "/api/v3/latestbreach", "/openapi/v3.json", "/api/v3/nothing", "/healthz",
            "/api/v3/breachedaccount/forged-name@forged.example", $"/api/v3/breachedaccount/{WebFixture.InAlpha}?truncateResponse=false"])
        {
            var (_, head, body) = await connection.AskAsync(Encoding.ASCII.GetBytes(
                $"GET {path} HTTP/1.1\r\nHost: forged.example\r\nUser-Agent: forged\r\nhibp-api-key: {fixture.Key}\r\n"
                + "X-Forwarded-Host: forged.example\r\nX-Forwarded-Proto: forged\r\nX-Forwarded-Prefix: /forged\r\n"
                + "X-Forwarded-For: forged\r\nForwarded: host=forged.example\r\nOrigin: https://forged.example\r\n\r\n"));
            Assert.DoesNotContain("forged", head + body, StringComparison.OrdinalIgnoreCase);
        }
    }

    private static async Task SendAllAsync(int port, int seed, string key)
    {
        var requests = new List<OddRequest>();
        var odd = new OddRequests(seed, key);
        while (requests.Count < Requests)
            requests.AddRange(odd.Round());
        var wrong = new ConcurrentDictionary<string, string>();
        await Task.WhenAll(Enumerable.Range(0, Connections).Select(async worker =>
        {
            using var connection = new RawConnection(port);
            for (var i = worker; i < requests.Count; i += Connections)
            {
                var (kind, status, bytes) = requests[i];
                var found = await Record.ExceptionAsync(async () => Assert.Equal(status, (await connection.AskAsync(bytes)).Status));
                if (found is not null)
                    wrong.TryAdd(
                        kind, $"{kind}: {found.Message}: {Encoding.Latin1.GetString(bytes.AsSpan(0, Math.Min(bytes.Length, Shown)))}");
            }
        }));
        Assert.True(wrong.IsEmpty, string.Join('\n', wrong.Values));
    }

    /// <summary>Sends headers that never end, one byte at a time, until the server disconnects.</summary>
    private static async Task DripAsync(int port)
    {
        using var client = new RawBody(port);
        await client.SendAsync("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Drip: ");
        var ended = client.ReadToEndAsync();
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(500));
        while (await Task.WhenAny(ended, timer.WaitForNextTickAsync().AsTask()) != ended)
        {
            try
            {
                await client.SendAsync("a");
            }
            catch (IOException)
            {
                break; // closed
            }
        }
        var said = await ended;
        Assert.True(said.Length == 0 || said.StartsWith("HTTP/1.1 408", StringComparison.Ordinal), said);
    }

    private static async Task AssertServesAsync(int port, string key)
    {
        using var connection = new RawConnection(port);
        Assert.Equal(200, (await connection.AskAsync(Encoding.ASCII.GetBytes(
            $"GET /api/v3/breachedaccount/{WebFixture.InAlpha} HTTP/1.1\r\nHost: x\r\nUser-Agent: hostile\r\nhibp-api-key: {key}\r\n\r\n")))
            .Status);
    }

    private Task<HibpProcess> ServeAsync(string folder) => HibpProcess.StartAsync(
        folder, new Dictionary<string, string> { ["HIBP_STORAGE"] = fixture.Pipeline.Connection }, "ready", "serve", "--urls",
        "http://127.0.0.1:0");

    internal static int PortOf(HibpProcess server) => new Uri(server.Address).Port;

    private static Process StartIdle(int port) => Process.Start(
        new ProcessStartInfo(
            "node", [RepositoryFile.Path("tests/HibpIngest.Integration.Tests/Api/clients/idle.mjs"), $"{port}", $"{IdleConnections}"])
        {
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        })!;

    private static long Memory(int process) => (long)(ProcessMemory.MiB(process) * (1 << 20));
}
