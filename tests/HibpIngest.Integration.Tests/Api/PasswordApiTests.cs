using HibpIngest.Passwords.Serving;

namespace HibpIngest.Integration.Tests.Api;

public sealed class PasswordApiTests(PasswordClientTests.Corpus corpus)
    : IClassFixture<PasswordClientTests.Corpus>, IAsyncLifetime
{
    private const string Within = "5BAA6";
    private const string WithinNtlm = "8846F";

    private WebRig _web = null!;

    public async Task InitializeAsync() => _web = await WebRig.StartAsync(corpus.Connection);

    public async Task DisposeAsync() => await _web.DisposeAsync();

    /// <summary>The client "raw" of PasswordClientTests checks lengths, digests, encodings, ETags and 304s.</summary>
    [Fact]
    public async Task Range_has_cache_and_security_headers()
    {
        var reply = await AskAsync($"/range/{Within}");
        Assert.Equal("public, max-age=3600", reply.Header("Cache-Control"));
        Assert.Equal("Accept-Encoding, Add-Padding", reply.Header("Vary"));
        Assert.Equal("text/plain; charset=utf-8", reply.Header("Content-Type"));
        Assert.Equal("Content-MD5, ETag", reply.Header("Access-Control-Expose-Headers"));
        Assert.Equal("nosniff", reply.Header("X-Content-Type-Options"));
        var now = TimeProvider.System.GetUtcNow();
        Assert.InRange(DateTimeOffset.Parse(reply.Header("Last-Modified")), now.AddHours(-1), now.AddMinutes(1));
        var head = await _web.GetAsync($"/range/{Within}", method: "HEAD", agent: null);
        Assert.Equal(
            reply.Headers.Where(header => header.Key != "Date").OrderBy(header => header.Key),
            head.Headers.Where(header => header.Key != "Date").OrderBy(header => header.Key));
        var unchanged = await AskAsync($"/range/{Within}", ("If-None-Match", reply.Header("ETag")));
        Assert.Equal(304, unchanged.Status);
        foreach (var header in new[] { "Content-MD5", "Access-Control-Allow-Origin" })
            Assert.Equal(reply.Header(header), unchanged.Header(header));
        // Caches that can be purged may keep it for a month.
        await using var purging = await WebRig.StartAsync(
            corpus.Connection, passwords: new PasswordOptions { PurgeUrl = "https://cache.example/purge" });
        Assert.Equal("public, max-age=2678400", (await purging.GetAsync($"/range/{Within}")).Header("Cache-Control"));
    }

    [Fact]
    public async Task Range_mode_must_be_ntlm_exactly_and_the_prefix_ignores_case()
    {
        Assert.Equal(corpus.Made.Body(HashMode.Ntlm, WithinNtlm), (await AskAsync($"/range/{WithinNtlm}?mode=ntlm")).Text);
        Assert.Equal(corpus.Made.Body(HashMode.Ntlm, WithinNtlm), (await AskAsync("/RANGE/8846f?Mode=ntlm")).Text);
        foreach (var query in new[] { "?mode=NTLM", "?mode=", "?mode", "?x=ntlm" })
            Assert.Equal(corpus.Made.Body(HashMode.Sha1, Within), (await AskAsync($"/range/5baa6{query}")).Text);
    }

    /// <summary>The client "raw" checks the padding's rows.</summary>
    [Fact]
    public async Task Padding_follows_the_rows_if_it_is_requested()
    {
        var real = corpus.Made.Body(HashMode.Sha1, Within);
        Assert.StartsWith(real + "\r\n", (await AskAsync($"/range/{Within}", ("Add-Padding", "True"))).Text, StringComparison.Ordinal);
        Assert.Equal(real, (await AskAsync($"/range/{Within}", ("Add-Padding", "false"))).Text);
    }

    [Theory]
    [InlineData("The hash prefix was not in a valid format", "", "5BAA", "5BAA61")]
    [InlineData("The hash prefix was not valid hexadecimal", "5BAAG", "%20BAA6", "-BAA6", "0x5BA")]
    public Task Invalid_prefix_returns_400_in_plain_text_and_is_not_cached(string message, params string[] prefixes) =>
        Assert.AllAsync(prefixes, async prefix =>
        {
            var reply = await AskAsync($"/range/{prefix}");
            Assert.Equal((400, message, "no-store"), (reply.Status, reply.Text, reply.Header("Cache-Control")));
            Assert.Equal(("text/plain; charset=utf-8", "*"), (reply.Header("Content-Type"), reply.Header("Access-Control-Allow-Origin")));
            Assert.Equal("", reply.Header("ETag"));
        });

    [Fact]
    public async Task Preflight_allows_the_headers_that_clients_send()
    {
        var reply = await _web.GetAsync(
            $"/range/{Within}", method: "OPTIONS", agent: null,
            headers: [("Origin", "https://example.com"), ("Access-Control-Request-Headers", "add-padding")]);
        Assert.Equal((204, "*", "1728000"), (
            reply.Status, reply.Header("Access-Control-Allow-Origin"), reply.Header("Access-Control-Max-Age")));
        foreach (var header in new[] { "add-padding", "user-agent", "cache-control", "if-none-match" })
            Assert.Contains(header, reply.Header("Access-Control-Allow-Headers"), StringComparison.Ordinal);
        Assert.Equal(405, (await _web.GetAsync($"/range/{Within}", method: "POST")).Status);
    }

    [Fact]
    public async Task Unavailable_store_returns_503_uncached_and_cached_ranges_are_still_served()
    {
        var isDown = false;
        await using var web = await WebRig.StartAsync(corpus.Connection, replaceServices: services => services.Wrap<IPasswordBlobs>(
            blobs => new FaultyBlobs(blobs) { IsDown = () => isDown }.Port));
        var before = await web.GetAsync($"/range/{Within}");
        isDown = true;
        var reply = await web.GetAsync("/range/7C4A8");
        Assert.Equal((503, "no-store", "*"), (
            reply.Status, reply.Header("Cache-Control"), reply.Header("Access-Control-Allow-Origin")));
        Assert.Equal(before.Body, (await web.GetAsync($"/range/{Within}")).Body);
        isDown = false;
        Assert.Equal(200, (await web.GetAsync("/range/7C4A8")).Status);
    }

    [Fact]
    public async Task Range_without_served_passwords_returns_404_uncached()
    {
        await using var off = await WebRig.StartAsync(corpus.Connection, passwords: new PasswordOptions { Passwords = PasswordPin.Off });
        await using var empty = await WebRig.StartAsync(await AzuriteFixture.NewAccountAsync());
        foreach (var web in new[] { off, empty })
        {
            var reply = await web.GetAsync($"/range/{Within}");
            Assert.Equal((404, "no-store", "text/plain; charset=utf-8"), (
                reply.Status, reply.Header("Cache-Control"), reply.Header("Content-Type")));
        }
    }

    private Task<WebReply> AskAsync(string path, params (string, string)[] headers) => _web.GetAsync(path, agent: null, headers: headers);
}
