using System.Net.Http.Headers;
using HibpIngest.Api.Subscriptions;
using HibpIngest.Pipeline.Callbacks;

namespace HibpIngest.Integration.Tests.Api;

/// <summary>Tests how callback clients choose what they watch: one prefix, many, or all.</summary>
public sealed class RangeSubscriptionApiTests : IAsyncLifetime
{
    private const string One = "/enterprise/range/subscribe";
    private const string All = "/enterprise/range/subscriptions";
    private const string Bitmap = "application/octet-stream";

    private readonly SecretKeys _secretKeys = SecretKeys.Parse(Convert.ToBase64String(new byte[32]))!;
    private readonly TestClock _clock = TestClock.WithTimersByHand();
    private string _connection = "";
    private StorageAccount _account = null!;
    private WebRig _web = null!;
    private NewClient _client = null!;

    public async Task InitializeAsync()
    {
        _connection = await AzuriteFixture.NewAccountAsync();
        _account = StorageAccount.Open(_connection, NullLoggerFactory.Instance);
        _client = await AddAsync("contoso");
        _web = await WebRig.StartAsync(_connection);
    }

    public async Task DisposeAsync()
    {
        await _web.DisposeAsync();
        _account.Dispose();
        _secretKeys.Dispose();
    }

    [Fact]
    public async Task Prefix_subscription_is_idempotent_and_ends_when_deleted()
    {
        Assert.Equal((201, "{}"), await AskAsync("POST", One, """{"hashPrefix":"0a1b2c"}"""));
        Assert.Equal((200, "{}"), await AskAsync("POST", One, """{"hashPrefix":"0A1B2C"}"""));
        Assert.Equal((201, "{}"), await AskAsync("POST", One, """{"other":[1],"hashPrefix":"ffffff"}"""));
        // A mistake that a known client makes.
        Assert.Equal((200, "{}"), await AskAsync("GET", One));
        await AssertWatchedAsync(_client, 0x0A1B2C, 0xFFFFFF);

        Assert.Equal((200, "{}"), await AskAsync("DELETE", "/enterprise/range/0A1b2c"));
        Assert.Equal((200, "{}"), await AskAsync("DELETE", "/enterprise/range/0A1B2C"));
        await AssertWatchedAsync(_client, 0xFFFFFF);
        Assert.Equal((201, "{}"), await AskAsync("POST", One, """{"hashPrefix":"0A1B2C"}"""));
        await AssertWatchedAsync(_client, 0x0A1B2C, 0xFFFFFF);
        // No other client watches them.
        await AssertWatchedAsync(await AddAsync("another"));
    }

    [Fact]
    public async Task Bulk_subscription_changes_all_prefixes_or_none()
    {
        Assert.Equal(
            (200, """{"subscribed":3,"unsubscribed":0,"total":3}"""),
            await AskAsync("POST", All, """{"subscribe":["000000","00000A","FFFFFF","00000a"]}"""));
        Assert.Equal(
            (200, """{"subscribed":1,"unsubscribed":2,"total":2}"""),
            await AskAsync("POST", All, """{"subscribe":["000001","00000A"],"unsubscribe":["00000A","FFFFFF","ABCDEF"]}"""));
        await AssertWatchedAsync(_client, 0, 1);

        string[] refused = [.. Enumerable.Range(0, MaxBulkPrefixes).Select(PrefixBitmap.TextOf), "ABCDEF"];
        foreach (var (status, message, body) in ((int, string, string)[])[
            (400, "Invalid hex prefix at index 1", """{"subscribe":["000005","00000G"]}"""),
            (400, "Invalid hex prefix at index 0", """{"subscribe":["000005"],"unsubscribe":[null]}"""),
            (413, "At most 100000", JsonSerializer.Serialize(new Dictionary<string, string[]> { ["subscribe"] = refused })),
            (400, "Unable to parse JSON", """{"subscribe":["000005"]"""),
            (400, "an array", """{"subscribe":"000005"}"""),
            (400, "an object", "[]"),
            (400, "Unable to parse JSON", ""),
        ])
            AssertRefused(status, message, await AskAsync("POST", All, body));
        await AssertWatchedAsync(_client, 0, 1);
        Assert.Equal(
            (200, $$"""{"subscribed":{{MaxBulkPrefixes - 2}},"unsubscribed":0,"total":{{MaxBulkPrefixes}}}"""),
            await AskAsync("POST", All, JsonSerializer.Serialize(new { subscribe = refused[..^1] })));
    }

    [Fact]
    public async Task Bitmap_is_read_and_replaced_only_if_its_etag_matches()
    {
        var none = await SendAsync("GET", All);
        Assert.Equal((200, Bitmap), (none.Status, none.Header("Content-Type")));
        Assert.Equal(new byte[2 * 1024 * 1024], none.Body);

        var bits = new byte[2 * 1024 * 1024];
        new Random(17).NextBytes(bits);
        var count = bits.Sum(one => int.PopCount(one));
        var put = await SendAsync("PUT", All, bits);
        Assert.Equal((200, $$"""{"total":{{count}}}"""), (put.Status, put.Text));
        var got = await SendAsync("GET", All);
        Assert.Equal(bits, got.Body);
        Assert.Equal(put.Header("ETag"), got.Header("ETag"));
        var head = await SendAsync("HEAD", All);
        Assert.Equal((200, got.Header("ETag"), "2097152"), (head.Status, head.Header("ETag"), head.Header("Content-Length")));

        Assert.Equal(200, (await SendAsync("PUT", All, new byte[bits.Length], got.Header("ETag"))).Status);
        foreach (var stale in (string[])[got.Header("ETag"), "\"other\"", "nothing"])
        {
            var reply = await SendAsync("PUT", All, bits, stale);
            AssertRefused(412, "another version", (reply.Status, reply.Text));
        }
        await AssertWatchedAsync(_client);
        AssertRefused(400, "2097152 bytes", await AskAsync("PUT", All, new byte[10]));
        AssertRefused(413, "2097152 bytes", await AskAsync("PUT", All, new byte[bits.Length + 1]));
        AssertRefused(400, "Content-Type", await AskAsync("PUT", All, "{}"));
    }

    [Theory]
    [InlineData("No hashPrefix", "{}", "")]
    [InlineData(
        "Invalid hex prefix", """{"hashPrefix":"0A1B2"}""", """{"hashPrefix":"anna@hidden.example"}""", """{"hashPrefix":null}""",
        """{"hashPrefix":["0A1B2C"]}""")]
    [InlineData("Unable to parse JSON", """{"hashPrefix":"0A1B2C"} x""")]
    [InlineData("an object", "\"0A1B2C\"")]
    public async Task Invalid_prefix_returns_400_in_JSON_and_is_not_repeated(string message, params string[] bodies)
    {
        await Assert.AllAsync(bodies, async body => AssertRefused(400, message, await AskAsync("POST", One, body)));
        AssertRefused(400, "Invalid hex prefix", await AskAsync("DELETE", "/enterprise/range/nothex"));
        Assert.Null(await _account.Prefixes.ReadAsync(_client.Client.Number, None));
    }

    [Fact]
    public async Task Subscriptions_require_a_client_key_even_on_an_open_server()
    {
        var search = await _web.AddKeyAsync("search", KeyScopes.Search | KeyScopes.Range);
        await using var open = await WebRig.StartAsync(_connection, isOpen: true);
        foreach (var web in (WebRig[])[_web, open])
        {
            foreach (var (method, path) in ((string, string)[])[("POST", One), ("GET", One), ("DELETE", "/enterprise/range/0A1B2C"),
                ("POST", All), ("GET", All), ("PUT", All)])
            {
                var body = method is "POST" or "PUT" ? "{}" : null;
                AssertRefused(401, "missing", Of(await SendAsync(method, path, body, web: web, key: "")));
                AssertRefused(401, "invalid", Of(await SendAsync(method, path, body, web: web, key: new string('0', 32))));
                AssertRefused(403, "does not have access", Of(await SendAsync(method, path, body, web: web, key: search)));
            }
            Assert.Equal(200, (await SendAsync("GET", All, web: web)).Status);
        }
        // The client's key can also read ranges, and nothing else.
        Assert.Equal(403, (await _web.GetAsync("/api/v3/breachedaccount/a@example.com", _client.Key)).Status);
    }

    [Fact]
    public async Task Unsupported_method_returns_405_with_the_allowed_methods()
    {
        var reply = await SendAsync("PATCH", All, "{}");
        Assert.Equal((405, "DELETE, GET, HEAD, OPTIONS, POST, PUT"), (reply.Status, string.Join(
            ", ", reply.Header("Allow").Split(',', StringSplitOptions.TrimEntries).Order(StringComparer.Ordinal))));
        AssertRefused(405, "PUT", (reply.Status, reply.Text));
        Assert.Equal("DELETE, OPTIONS", (await SendAsync("OPTIONS", "/enterprise/range/0A1B2C")).Header("Allow"));
    }

    [Fact]
    public async Task Concurrent_subscriptions_on_two_servers_are_batched_and_none_is_lost()
    {
        var writes = 0;
        await using var other = await WebRig.StartAsync(_connection, replaceServices: services => services.Hook<IPrefixBlobs>(
            nameof(IPrefixBlobs.WriteAsync), () => Interlocked.Increment(ref writes)));
        const int Each = 40;
        var replies = await Task.WhenAll(Enumerable.Range(0, 2 * Each).Select(i => SendAsync(
            "POST", One, $$"""{"hashPrefix":"{{PrefixBitmap.TextOf(i)}}"}""", web: i < Each ? _web : other)));
        Assert.All(replies, reply => Assert.Equal(201, reply.Status));
        await AssertWatchedAsync(_client, [.. Enumerable.Range(0, 2 * Each)]);
        Assert.InRange(writes, 1, Each / 2);
    }

    [Fact]
    public async Task Changes_within_a_second_are_one_write_and_a_lost_response_still_counts_as_new()
    {
        var clock = TestClock.WithTimersByHand();
        var writes = 0;
        var subscriptions = new RangeSubscriptions(
            PortProxy<IPrefixBlobs>.Create(_account.Prefixes, method =>
            {
                if (method == nameof(IPrefixBlobs.WriteAsync))
                    writes++;
                return Task.CompletedTask;
            }), clock);
        var number = _client.Client.Number;
        Assert.True(await subscriptions.SetAsync(number, 1, true, None));
        Assert.Equal(1, writes);
        var changes = Enumerable.Range(1, 50).Select(prefix => subscriptions.SetAsync(number, prefix, true, None)).ToList();
        var removed = subscriptions.SetAsync(number, 2, false, None);
        Assert.All(changes, change => Assert.False(change.IsCompleted));
        var changing = Task.WhenAll(changes);
        await clock.AdvanceUntilAsync(changing, RangeSubscriptions.GatherFor);
        var changed = await changing;
        Assert.Equal(Enumerable.Repeat(true, 49).Prepend(false), changed);
        Assert.True(await removed);
        Assert.Equal(2, writes);
        await AssertWatchedAsync(_client, [1, .. Enumerable.Range(3, 48)]);

        // The write is carried out, but its response is lost: what the next read finds still counts as new.
        HashSet<string> pending = [nameof(IPrefixBlobs.WriteAsync)];
        var losing = new RangeSubscriptions(Losing(_account.Prefixes, null, pending), TimeProvider.System);
        Assert.True(await losing.SetAsync(number, 1_000, true, None));
        Assert.Empty(pending);
    }

    [Fact]
    public async Task Unavailable_store_returns_503_and_later_subscriptions_are_stored()
    {
        var isDown = true;
        await using var web = await WebRig.StartAsync(_connection, replaceServices: services => services.Hook<IPrefixBlobs>(
            _ => isDown ? throw new UnavailableException("down") : Task.CompletedTask));
        Assert.Equal(503, (await SendAsync("POST", One, """{"hashPrefix":"0A1B2C"}""", web: web)).Status);
        Assert.Equal(503, (await SendAsync("GET", All, web: web)).Status);
        isDown = false;
        Assert.Equal(201, (await SendAsync("POST", One, """{"hashPrefix":"0A1B2C"}""", web: web)).Status);
    }

    [Fact]
    public async Task Removed_client_or_rotated_key_returns_401()
    {
        var operations = Operations();
        var rotated = await operations.RotateKeyAsync("Contoso", 1_000, None);
        Assert.NotEqual(_client.Key, rotated.Key);
        Assert.Equal(401, (await SendAsync("GET", All, key: _client.Key)).Status);
        Assert.Equal(201, (await SendAsync("POST", One, """{"hashPrefix":"0A1B2C"}""", key: rotated.Key)).Status);
        await _clock.AdvanceUntilAsync(operations.RemoveAsync("contoso", None), ClientOperations.RemovalPause);
        Assert.Null(await _account.Prefixes.ReadAsync(_client.Client.Number, None));
        Assert.Empty(await _account.Keys.ListAsync(None));
        Assert.Empty(await _account.Clients.ListAsync(None));
        await using var fresh = await WebRig.StartAsync(_connection);
        Assert.Equal(401, (await SendAsync("GET", All, key: rotated.Key, web: fresh)).Status);
        await Assert.ThrowsAsync<NotPossibleException>(() => operations.RemoveAsync("contoso", None));
    }

    [Fact]
    public async Task Lost_response_leaves_one_client_with_the_one_key_that_was_shown()
    {
        var added = await Operations(LosingClients()).AddAsync("fabrikam", "https://fabrikam.example/", false, 4, 5_000, None);
        Assert.Equal(["contoso", "fabrikam"], (await _account.Clients.ListAsync(None)).Select(client => client.Name));
        var rotated = await Operations(LosingClients()).RotateKeyAsync("fabrikam", null, None);
        Assert.Equal(added.Client.Number, rotated.Client.Number);
        var key = Assert.Single(await _account.Keys.ListAsync(None), key => key.Client == rotated.Client.Number);
        Assert.Equal((ApiKey.HashOf(rotated.Key), 5_000), (key.Hash, key.Rpm));
        Assert.Equal(401, (await SendAsync("GET", All, key: added.Key)).Status);
        Assert.Equal(200, (await SendAsync("GET", All, key: rotated.Key)).Status);

        ICallbackClients LosingClients() =>
            Losing(_account.Clients, false, [nameof(ICallbackClients.AddAsync), nameof(ICallbackClients.ChangeAsync)]);
    }

    [Fact]
    public async Task Client_secret_is_stored_sealed_for_its_client()
    {
        var client = Assert.Single(await _account.Clients.ListAsync(None));
        Assert.Equal(64, _client.Secret!.Length);
        Assert.Equal(_client.Secret, Encoding.ASCII.GetString(
            _secretKeys.Open(client.SealedSecret, Encoding.ASCII.GetBytes($"client {client.Number}"))!));
        var rotated = await Operations().RotateSecretAsync("contoso", None);
        Assert.NotEqual(_client.Secret, rotated.Secret);
        Assert.Null(rotated.Key);
        client = Assert.Single(await _account.Clients.ListAsync(None));
        Assert.Equal(rotated.Secret, Encoding.ASCII.GetString(
            _secretKeys.Open(client.SealedSecret, Encoding.ASCII.GetBytes($"client {client.Number}"))!));
        await Assert.ThrowsAsync<NotPossibleException>(() => AddAsync("CONTOSO"));
        await _web.AddKeyAsync("website");
        await Assert.ThrowsAsync<NotPossibleException>(() => AddAsync("website"));
    }

    private const int MaxBulkPrefixes = 100_000;

    private ClientOperations Operations(ICallbackClients? clients = null) =>
        new(clients ?? _account.Clients, _account.Keys, _account.Prefixes, _secretKeys, _clock);

    private Task<NewClient> AddAsync(string name) =>
        Operations().AddAsync(name, "https://contoso.example/breached", isSensitive: false, cap: 4, rpm: 60_000, None);

    /// <summary>Asserts on the blob's bytes, without the class that wrote them.</summary>
    private async Task AssertWatchedAsync(NewClient client, params int[] prefixes)
    {
        var blob = await _account.Prefixes.ReadAsync(client.Client.Number, None);
        var bytes = blob?.Prefixes.Bytes.ToArray() ?? [];
        var found = Enumerable.Range(0, 8 * bytes.Length).Where(bit => (bytes[bit / 8] & (1 << (bit % 8))) != 0);
        Assert.Equal(prefixes.Order(), found);
    }

    private static void AssertRefused(int status, string message, (int Status, string Text) reply)
    {
        Assert.Equal(status, reply.Status);
        var json = JsonElement.Parse(reply.Text);
        Assert.Equal(status, json.GetProperty("statusCode").GetInt32());
        Assert.Contains(message, json.GetProperty("message").GetString(), StringComparison.Ordinal);
        Assert.DoesNotContain("anna", reply.Text, StringComparison.Ordinal);
    }

    private async Task<(int Status, string Text)> AskAsync(string method, string path, object? body = null) =>
        Of(await SendAsync(method, path, body));

    private static (int Status, string Text) Of(WebReply reply) => (reply.Status, reply.Text);

    private async Task<WebReply> SendAsync(
        string method, string path, object? body = null, string? version = null, WebRig? web = null, string? key = null)
    {
        var content = body is null ? null : new ByteArrayContent(body as byte[] ?? Encoding.UTF8.GetBytes((string)body));
        content?.Headers.ContentType = new MediaTypeHeaderValue(body is byte[]? Bitmap : "application/json");
        var headers = new List<(string, string)>();
        if (version is not null)
            headers.Add(("If-Match", version));
        if (key is not "")
            headers.Add(("Hibp-Enterprise-Api-Key", key ?? _client.Key!));
        return await (web ?? _web).SendAsync(method, path, content, key: null, agent: null, [.. headers]);
    }

    /// <summary>Carries out the first call of each of these methods, but reports a conflict, as if the response were lost.</summary>
    private static T Losing<T>(T port, object? conflict, HashSet<string> methods)
        where T : class => PortProxy<T>.Create(
            port, _ => Task.CompletedTask, change: (method, result) => methods.Remove(method) ? conflict : result);
}
