using HibpIngest.Api.AccessLog;

namespace HibpIngest.Integration.Tests.AccessLog;

/// <summary>Tests the access log from a request to its count, with the processes that an operator runs.</summary>
public sealed class AccessHostTests : CommandTestBase
{
    private const int Requests = 7;

    [Fact]
    public async Task Requests_of_a_terminated_server_are_counted()
    {
        await using (var server = await StartAsync("ready", "serve", "--open", "--urls", "http://127.0.0.1:0"))
        {
            using var http = new HttpClient { BaseAddress = new Uri($"http://127.0.0.1:{Api.HostileTests.PortOf(server)}") };
            http.DefaultRequestHeaders.UserAgent.ParseAdd("test/1.0");
            for (var i = 0; i < Requests; i++)
                (await http.GetAsync(new Uri("/api/v3/no-such-route", UriKind.Relative))).Dispose();
            await server.TerminateAsync();
        }
        await using var host = await StartAsync("ready", "run", "--listen", "http://127.0.0.1:0");
        var watch = host.Error.Split('\n').Single(line => line.StartsWith("watch at:", StringComparison.Ordinal))["watch at:".Length..];
        using var operators = new HttpClient { BaseAddress = new Uri(watch.Trim()) };
        Assert.Equal(Requests, await Probe.AskUntilAsync<long>(Requests, async () =>
            JsonElement.Parse(await operators.GetStringAsync(new Uri("/usage?by=status", UriKind.Relative)))
                .GetProperty("total").Number("requests")));
        var line = Assert.Single((await JsonAsync("usage", "--by", "status")).List("lines"));
        Assert.Equal((404, Requests), (line.Number("status"), line.Number("requests")));
        await host.TerminateAsync();
    }

    [Fact]
    public async Task Damaged_blob_ends_in_the_poison_queue_and_its_host_keeps_running()
    {
        Variables["HIBP_MAXTRIES"] = "1";
        using var account = StorageAccount.Open(Variables["HIBP_STORAGE"], NullLoggerFactory.Instance);
        var log = account.AccessLog;
        await log.CreateAsync(None);
        var name = AccessBlobName.Of(TimeProvider.System.GetUtcNow(), Guid.NewGuid(), 1);
        await log.BeginAsync(name, None);
        await log.AppendAsync(name, 0, new byte[100], None);
        await log.MarkAsync((await log.FindAsync(name, None))!, AccessBlobState.Sealed, null, None);

        await using var host = await StartAsync("moved to access-rollup-poison", "run", "--roles", "access,sweep");
        Assert.Contains($"blob '{name}' of the access log is not counted", host.Error, StringComparison.Ordinal);
        (await RunAsync("poison", "list", "access-rollup", "--json")).Printed(name);
        // It stops like a host that was working, with exit code 143.
        Assert.Equal(143, (await host.TerminateAsync()).ExitCode);
    }
}
