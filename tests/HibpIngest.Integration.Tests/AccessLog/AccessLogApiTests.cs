using HibpIngest.Api.AccessLog;
using HibpIngest.Integration.Tests.AzureStorage;
using HibpIngest.Integration.Tests.Api;
using Microsoft.Extensions.DependencyInjection;

namespace HibpIngest.Integration.Tests.AccessLog;

/// <summary>Tests that each response of the API is logged: before it is sent if it is billed or counted, otherwise after.</summary>
public sealed class AccessLogApiTests(WebFixture fixture) : IClassFixture<WebFixture>, IAsyncLifetime
{
    private const string Latest = "/api/v3/latestbreach";
    private const string Breaches = "/api/v3/breaches";
    private const string Account = $"/api/v3/breachedaccount/{WebFixture.InAll}";

    private StorageAccount _account = null!;
    private WatchedAccessBlobs _blobs = null!;

    public async Task InitializeAsync()
    {
        _account = await AzuriteStorage.OpenAsync();
        _blobs = new WatchedAccessBlobs(_account.AccessLog);
    }

    public Task DisposeAsync()
    {
        _account.Dispose();
        return Task.CompletedTask;
    }

    [Fact]
    public async Task Record_has_route_status_key_and_size_but_nothing_of_the_request()
    {
        var key = Convert.ToHexStringLower(SHA256.HashData(Encoding.ASCII.GetBytes(fixture.Key))[..8]);
        var replies = new List<(string Route, WebReply Reply, string Key, ClientKind Client)>();
        var before = TimeProvider.System.GetUtcNow();
        await using (var web = await StartAsync())
        {
            await AskAsync("/api/v3/breachedaccount/{account?}", Account, fixture.Key, key);
            await AskAsync("/api/v3/breachedaccount/{account?}", "/api/v3/breachedaccount/nobody@hidden-domain.com", fixture.Key, key);
            await AskAsync("/api/v3/breachedaccount/{account?}", Account, null, "");
            await AskAsync("/api/v3/breachedaccount/{account?}", Account, "00000000000000000000000000000000", "");
            await AskAsync("/api/v3/breachedaccount/range/{prefix?}", "/api/v3/breachedaccount/range/ABCDEF", fixture.Key, key); // 403
            await AskAsync("/api/v3/breacheddomain/{domain?}", "/api/v3/breacheddomain/example.com", fixture.Key, key); // 403
            await AskAsync(Latest, Latest, null, "", agent: "curl/8.5.0", client: ClientKind.CommandLine);
            await AskAsync(Latest, Latest, null, "", method: "HEAD");
            await AskAsync(Breaches, Breaches, null, "");
            await AskAsync("/api/v3/breach/{name}", "/api/v3/breach/Nothing", null, "");
            await AskAsync("/healthz", "/healthz", null, "", agent: null, client: ClientKind.None);
            await AskAsync("(none)", "/private-path/anna@hidden-domain.com", null, "");
            await AskAsync(Breaches, Breaches, null, "", method: "OPTIONS");

            async Task AskAsync(
                string route, string path, string? given, string known, string method = "GET", string? agent = "test",
                ClientKind client = ClientKind.Other) =>
                replies.Add((route, await web.GetAsync(path, given, method, agent), known, client));
        }
        var after = TimeProvider.System.GetUtcNow();
        // In response order: each request was sent after the response to the one before.
        var found = await AccessLogContents.ReadAsync(_account.AccessLog);
        Assert.Equal(
            replies.Select(one => (one.Route, one.Reply.Status, one.Key, one.Client, (uint)one.Reply.Body.Length)),
            found.OrderBy(one => one.Number).Select(one =>
                (one.Route, (int)one.Record.Status, one.Record.KeyText, one.Record.Client, one.Record.Bytes)));
        Assert.All(found, one => Assert.InRange(
            DateTimeOffset.UnixEpoch.AddMicroseconds(one.Record.Microseconds), before.AddSeconds(-1), after.AddSeconds(1)));
        Assert.Contains(replies, one => one.Reply.Status == 401);
        Assert.Contains(replies, one => one.Reply.Status == 403);

        var bytes = new List<byte[]>();
        await foreach (var blob in _account.AccessLog.ListAsync(None))
        {
            Assert.Equal(AccessBlobState.Sealed, blob.State);
            using var copy = new MemoryStream();
            await using var stream = await _account.AccessLog.OpenAsync(blob.Name, 0, None);
            await stream!.CopyToAsync(copy);
            bytes.Add(copy.ToArray());
        }
        Assert.NotEmpty(bytes);
        string[] people =
        [
            WebFixture.InAll, "hidden-domain", "anna", "ABCDEF", "private-path", "Nothing", "example.com", "127.0.0.1", fixture.Key, "curl",
        ];
        Assert.Empty(AddressSearch.Find(bytes, people));
    }

    [Theory]
    [InlineData(Latest, false, 200)]
    [InlineData(Account, true, 200)]
    [InlineData(Account, false, 401)]
    [InlineData("/api/v3/subscription/status", true, 200)]
    public async Task Billed_or_counted_request_is_answered_only_after_it_is_logged(string path, bool withKey, int status)
    {
        await using var web = await StartAsync();
        await web.GetAsync(Latest); // creates the blob
        _blobs.Hold();
        var asked = web.GetAsync(path, withKey ? fixture.Key : null);
        await _blobs.Begun;
        // Other requests don't wait for it.
        Assert.Equal(200, (await web.GetAsync(Breaches)).Status);
        Assert.False(asked.IsCompleted);
        _blobs.Release();
        Assert.Equal(status, (await asked).Status);
    }

    [Fact]
    public async Task Unavailable_log_returns_503_for_requests_that_must_be_logged_and_serves_the_others()
    {
        await using (var web = await StartAsync())
        {
            var well = await web.GetAsync(Latest);
            _blobs.IsDown = true;
            foreach (var (path, key) in ((string, string?)[])[(Latest, null), (Account, fixture.Key), (Account, null), (Latest, null)])
            {
                var reply = await web.GetAsync(path, key);
                Assert.Equal((503, "2", "no-store"), (reply.Status, reply.Header("Retry-After"), reply.Header("Cache-Control")));
                Assert.Equal(503, reply.Json.GetProperty("statusCode").GetInt32());
                Assert.Equal(reply.Body.Length.ToString(CultureInfo.InvariantCulture), reply.Header("Content-Length"));
            }
            Assert.Equal(503, (await web.GetAsync(Latest, method: "HEAD")).Status);
            Assert.Equal(200, (await web.GetAsync(Breaches)).Status);
            _blobs.IsDown = false;
            var expected = well.ToString();
            Assert.Equal(expected, await Probe.AskUntilAsync(expected, async () => (await web.GetAsync(Latest)).ToString()));
        }
        var found = await AccessLogContents.ReadAsync(_account.AccessLog);
        Assert.True(found.Count(one => one.Record.Status == 503) >= 5);
        Assert.Single(found, one => one.Route == Breaches);
        Assert.Equal(2, found.Count(one => one is { Route: Latest, Record.Status: 200 }));
    }

    [Fact]
    public async Task Disabled_access_log_writes_nothing()
    {
        await using (var web = await StartAsync(isOn: false))
        {
            Assert.Equal(200, (await web.GetAsync(Latest)).Status);
            Assert.Equal(200, (await web.GetAsync(Account, fixture.Key)).Status);
        }
        Assert.Equal(0, _blobs.Appends);
        Assert.Empty(await AccessLogContents.ReadAsync(_account.AccessLog));
    }

    private Task<WebRig> StartAsync(bool isOn = true) => WebRig.StartAsync(
        fixture.Pipeline.Connection, configure: options => options.AccessLog = isOn,
        replaceServices: services => services.AddSingleton(_blobs.Port));
}
