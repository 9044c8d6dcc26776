using HibpIngest.Hosting.Web;
using Microsoft.AspNetCore.Authorization.Policy;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Integration.Tests.Api;

public sealed class KeyTests(WebFixture fixture) : IClassFixture<WebFixture>
{
    private const string Path = "/api/v3/breachedaccount/" + WebFixture.InAlpha;

    private WebRig Web => fixture.Web;

    [Theory]
    [InlineData(null, "Access denied due to missing hibp-api-key.")]
    [InlineData("", "Access denied due to missing hibp-api-key.")]
    [InlineData("00000000", "Access denied due to improperly formed hibp-api-key.")]
    [InlineData("0000000000000000000000000000000g", "Access denied due to improperly formed hibp-api-key.")]
    [InlineData("00000000000000000000000000000000, 00000000000000000000000000000000",
        "Access denied due to improperly formed hibp-api-key.")]
    [InlineData("00000000000000000000000000000000", "Access denied due to invalid hibp-api-key.")]
    public async Task Request_without_a_known_key_returns_401(string? key, string message)
    {
        var reply = await Web.GetAsync(Path, key);
        Assert.Equal((401, $$"""{"statusCode":401,"message":"{{message}}"}"""), (reply.Status, reply.Text));
        Assert.Equal("no-store", reply.Header("Cache-Control"));
    }

    [Theory]
    [InlineData(null)]
    [InlineData("")]
    [InlineData(" ")]
    [InlineData("Azure-Functions-Host/4.1037.0.0")]
    public async Task Request_without_a_user_agent_returns_403(string? agent)
    {
        foreach (var path in (string[])[Path, "/api/v3/breaches"])
        {
            var reply = await Web.GetAsync(path, fixture.Key, agent: agent);
            Assert.Equal((403, """{"statusCode":403,"message":"API request must include a user agent"}"""), (reply.Status, reply.Text));
        }
    }

    [Fact]
    public async Task Key_above_its_rate_limit_returns_429_with_Retry_After()
    {
        var key = await Web.AddKeyAsync("ten", rpm: 10);
        Assert.Equal(200, (await Web.GetAsync(Path, key)).Status);
        var refused = await Web.GetAsync(Path, key);
        Assert.Equal(429, refused.Status);
        var seconds = int.Parse(refused.Header("Retry-After"));
        Assert.InRange(seconds, 1, 6);
        Assert.Equal(
            $$"""{"statusCode":429,"message":"Rate limit is exceeded. Try again in {{seconds}} second{{(seconds == 1 ? "" : "s")}}."}""",
            refused.Text);
        // Each key has a limit of its own.
        Assert.Equal(200, (await Web.GetAsync(Path, fixture.Key)).Status);
    }

    [Fact]
    public async Task Public_routes_skip_authentication()
    {
        await using var web = await WebRig.StartAsync(
            fixture.Pipeline.Connection,
            replaceServices: services => services.AddScoped<IPolicyEvaluator>(_ => throw new InvalidOperationException("authenticated")));
        foreach (var path in (string[])["/api/v3/breaches", "/range/00000", "/logos/default.png", "/healthz", "/nothing"])
            Assert.NotEqual((path, 500), (path, (await web.GetAsync(path, fixture.Key)).Status));
        Assert.Equal(500, (await web.GetAsync(Path, fixture.Key)).Status);
    }

    [Fact]
    public async Task Burst_is_a_sixth_of_the_limit_per_minute()
    {
        var key = await Web.AddKeyAsync("hundred-and-twenty", rpm: 120);
        var statuses = new List<int>();
        for (var i = 0; i < 30; i++)
            statuses.Add((await Web.GetAsync(Path, key)).Status);
        // 20 at once, and what half a second refilled meanwhile.
        Assert.All(statuses[..20], status => Assert.Equal(200, status));
        Assert.Contains(429, statuses);
    }

    [Fact]
    public async Task Guessing_keys_is_limited_to_60_a_minute_per_network()
    {
        var reads = 0;
        await using var web = await WebRig.StartAsync(
            fixture.Pipeline.Connection,
            configure: options => options.Proxies = 1,
            replaceServices: services => services.Hook<IApiKeys>(
                nameof(IApiKeys.FindAsync), () => Interlocked.Increment(ref reads)));
        Assert.Equal(200, await AskAsync(fixture.Key, "203.0.113.7"));
        var statuses = await Task.WhenAll(Enumerable.Range(0, 300).Select(i => StatusAsync(i, "203.0.113.7")));
        // Fewer if concurrent lookups held permits; more by the refill of a few seconds.
        Assert.InRange(statuses.Count(status => status == 401), 40, 60 + 8);
        Assert.Equal(300, statuses.Count(status => status is 401 or 429));
        Assert.InRange(Volatile.Read(ref reads), 40 + 1, 60 + 8 + 1);
        // A key that is already known still works.
        Assert.Equal(200, await AskAsync(fixture.Key, "203.0.113.7"));
        // The same network, the same with a forged address, and another network; a permit per second is refilled meanwhile.
        Assert.InRange(await GuessAsync("203.0.113.200"), 0, 30);
        Assert.InRange(await GuessAsync("198.51.100.1, 203.0.113.7"), 0, 20);
        Assert.Equal(40, await GuessAsync("203.0.114.7"));

        async Task<int> GuessAsync(string from) =>
            (await Task.WhenAll(Enumerable.Range(1_000, 40).Select(i => StatusAsync(i, from)))).Count(status => status == 401);

        Task<int> StatusAsync(int i, string from) => AskAsync($"{i:x32}", from);

        async Task<int> AskAsync(string key, string from) =>
            (await web.GetAsync(Path, key, headers: [("X-Forwarded-For", from)])).Status;
    }

    [Fact]
    public async Task Revoked_key_is_refused_by_a_server_that_has_not_cached_it()
    {
        var key = await Web.AddKeyAsync("revoked");
        await using var other = await WebRig.StartAsync(fixture.Pipeline.Connection);
        Assert.Equal(200, (await Web.GetAsync(Path, key)).Status);
        await Web.RemoveKeyAsync(key);
        Assert.Equal(401, (await other.GetAsync(Path, key)).Status);
    }

    [Fact]
    public async Task Open_server_accepts_local_requests_only_and_none_of_a_proxy()
    {
        await using var web = await WebRig.StartAsync(fixture.Pipeline.Connection, isOpen: true);
        Assert.Equal(200, (await web.GetAsync(Path)).Status);
        Assert.Equal(200, (await web.GetAsync(Path, new string('0', 32))).Status);
        Assert.Equal(401, (await web.GetAsync(Path, "0")).Status);
        foreach (var (name, value) in ((string, string)[])[("Host", "evil.example"), ("Host", "127.0.0.1.evil.example"),
            .. WebRig.ProxyHeaders])
        {
            foreach (var path in (string[])[Path, "/api/v3/breaches", "/healthz"])
                Assert.Equal((name, path, 403), (name, path, (await web.GetAsync(path, headers: [(name, value)])).Status));
        }
        foreach (var url in (string[])["http://0.0.0.0:0", "http://192.0.2.1:0", "http://*:0", "https://127.0.0.1:0", "ftp://x", "x"])
            await Assert.ThrowsAsync<BadInputException>(() => StartAsync(url));

        // By default, nginx's proxy_pass uses HTTP/1.0, sends the upstream as Host, and adds no header.
        foreach (var path in (string[])[Path, "/api/v3/breaches", "/range/00000", "/healthz"])
        {
            Assert.Equal((path, 403), (path, await StatusAsync(path, "1.0")));
            Assert.NotEqual((path, 403), (path, await StatusAsync(path, "1.1")));
        }

        async Task<int> StatusAsync(string path, string version)
        {
            using var connection = new RawConnection(web.Address.Port);
            var request = $"GET {path} HTTP/{version}\r\nHost: 127.0.0.1:{web.Address.Port}\r\nUser-Agent: nginx\r\n"
                + "Connection: close\r\n\r\n";
            return (await connection.AskAsync(Encoding.ASCII.GetBytes(request))).Status;
        }
    }

    [Fact]
    public async Task Server_with_a_certificate_serves_https_over_HTTP_1_1_and_2()
    {
        await using var web = await WebRig.StartAsync(fixture.Pipeline.Connection, isHttps: true);
        foreach (var version in (Version[])[HttpVersion.Version11, HttpVersion.Version20])
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, Path)
            {
                Version = version,
                VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            };
            request.Headers.TryAddWithoutValidation("User-Agent", "test");
            request.Headers.TryAddWithoutValidation("hibp-api-key", fixture.Key);
            using var response = await web.Client.SendAsync(request);
            Assert.Equal((200, version), ((int)response.StatusCode, response.Version));
            Assert.NotNull(response.Headers.GetValues("Strict-Transport-Security"));
        }
        await Assert.ThrowsAsync<BadInputException>(() => StartAsync("https://127.0.0.1:0"));
    }

    [Fact]
    public async Task Test_accounts_return_fixed_results_without_a_store()
    {
        await using var web = await WebRig.StartAsync(
            await AzuriteFixture.NewAccountAsync(), configure: options => options.TestAccounts = true);
        var key = new string('0', 32);
        foreach (var (account, breaches) in TestAccounts)
        {
            var reply = await web.GetAsync($"/api/v3/breachedaccount/{account}%40hibp-integration-tests.com", key);
            Assert.Equal((account, breaches == 0 ? 404 : 200), (account, reply.Status));
            if (breaches > 0)
                Assert.Equal((account, breaches), (account, reply.Names.Length));
        }
        Assert.Equal(["Adobe"], (await web.GetAsync(Of("not-active-and-active-breach"), key)).Names);
        Assert.Equal(401, (await web.GetAsync(Of("account-exists"))).Status);
        Assert.Equal(401, (await web.GetAsync(Of("account-exists"), "0")).Status);
        Assert.Equal(404, (await web.GetAsync("/api/v3/pasteaccount/account-exists@hibp-integration-tests.com", key)).Status);
        // When turned off, they are ordinary accounts, for which this key isn't valid.
        Assert.Equal(401, (await Web.GetAsync(Of("account-exists"), key)).Status);

        static string Of(string account) => $"/api/v3/breachedaccount/{account}@hibp-integration-tests.com";
    }

    private static readonly (string Account, int Breaches)[] TestAccounts =
    [
        ("account-exists", 1), ("multiple-breaches", 3), ("not-active-and-active-breach", 1), ("not-active-breach", 0), ("opt-out", 0),
        ("opt-out-breach", 0), ("permanent-opt-out", 0), ("sensitive-breach", 0), ("paste-sensitive-breach", 0),
        ("sensitive-and-other-breaches", 2), ("spam-list-only", 1), ("spam-list-and-others", 2), ("subscription-free-breach", 1),
        ("subscription-free-and-other-breaches", 3), ("stealer-log", 1), ("unverified-breach", 1), ("no-such-account", 0),
    ];

    private async Task StartAsync(string url)
    {
        await using var server = await WebServer.StartAsync(
            new WebServerOptions { Urls = [url], IsOpen = true },
            services => services.AddHibpApiStorage(fixture.Pipeline.Connection, [], nearest: null),
            TimeProvider.System, NullLoggerFactory.Instance, None);
    }
}
