namespace HibpIngest.Integration.Tests.Api;

public sealed class CatalogueApiTests(WebFixture fixture) : IClassFixture<WebFixture>
{
    private WebRig Web => fixture.Web;

    [Theory]
    [InlineData("", "Alpha,Beta,Delta,Gamma")]
    [InlineData("?domain=beta.example", "Beta")]
    [InlineData("?Domain=BETA.EXAMPLE", "Beta")]
    [InlineData("?domain=none.example", "")]
    [InlineData("?isSpamList=true", "Beta")]
    [InlineData("?IsSpamList=false", "Alpha,Delta,Gamma")]
    public async Task Breaches_are_listed_by_title_with_sensitive_and_retired_but_no_hidden_ones(string query, string names)
    {
        var reply = await Web.GetAsync($"/api/v3/breaches{query}");
        Assert.Equal((200, "public, max-age=300", "*"),
            (reply.Status, reply.Header("Cache-Control"), reply.Header("Access-Control-Allow-Origin")));
        Assert.Equal(names.Split(',', StringSplitOptions.RemoveEmptyEntries), reply.Names);
    }

    [Fact]
    public async Task Breach_is_found_by_its_name_in_any_case()
    {
        var reply = await Web.GetAsync("/API/V3/Breach/GAMMA");
        Assert.Equal((200, "Gamma"), (reply.Status, reply.Json.GetProperty("Name").GetString()));
        foreach (var name in (string[])["Hidden", "Nothing", "..%2Fids", "Alpha.json"])
        {
            var none = await Web.GetAsync($"/api/v3/breach/{name}");
            Assert.Equal((404, """{"statusCode":404,"message":"Not found"}"""), (none.Status, none.Text));
        }
    }

    [Fact]
    public async Task Latest_breach_is_the_newest_public_one_and_data_classes_are_listed()
    {
        // All were added within seconds: the latest must be one of those shown, and none may be newer.
        var latest = (await Web.GetAsync("/api/v3/latestbreach")).Json;
        var all = (await Web.GetAsync("/api/v3/breaches")).Json.EnumerateArray().ToList();
        Assert.Equal(
            all.Max(breach => breach.GetProperty("AddedDate").GetDateTimeOffset()), latest.GetProperty("AddedDate").GetDateTimeOffset());
        Assert.Equal("""["Email addresses","Passwords"]""", (await Web.GetAsync("/api/v3/dataclasses")).Text);
    }

    [Fact]
    public async Task Breaches_return_304_when_the_etag_matches_and_gzip_when_accepted()
    {
        var plain = await Web.GetAsync("/api/v3/breaches");
        var zipped = await Web.GetAsync("/api/v3/breaches", headers: [("Accept-Encoding", "br, gzip;q=0.5")]);
        Assert.Equal(("gzip", "Accept-Encoding", "Accept-Encoding"),
            (zipped.Header("Content-Encoding"), zipped.Header("Vary"), plain.Header("Vary")));
        Assert.Equal(plain.Text, zipped.Unzipped);
        Assert.NotEqual(plain.Header("ETag"), zipped.Header("ETag"));
        foreach (var tag in (string[])[plain.Header("ETag"), $"\"x\", W/{plain.Header("ETag")}", zipped.Header("ETag"), "*"])
        {
            var again = await Web.GetAsync("/api/v3/breaches", headers: [("If-None-Match", tag)]);
            Assert.Equal((304, 0, plain.Header("ETag")), (again.Status, again.Body.Length, again.Header("ETag")));
        }
        Assert.Equal(200, (await Web.GetAsync("/api/v3/breaches", headers: [("If-None-Match", "\"x\"")])).Status);
        Assert.Equal("", (await Web.GetAsync("/api/v3/breaches", headers: [("Accept-Encoding", "gzip;q=0")])).Header("Content-Encoding"));
    }

    [Fact]
    public async Task Cross_origin_requests_are_allowed_for_breaches_but_not_for_accounts()
    {
        var breaches = await Web.GetAsync("/api/v3/breaches", method: "OPTIONS", headers: [("Origin", "https://x.example")]);
        Assert.Equal((204, "*"), (breaches.Status, breaches.Header("Access-Control-Allow-Origin")));
        Assert.Contains("user-agent", breaches.Header("Access-Control-Allow-Headers"), StringComparison.Ordinal);
        var account = await Web.GetAsync("/api/v3/breachedaccount/a@example.com", method: "OPTIONS");
        Assert.Equal((204, "", "GET, HEAD, OPTIONS"),
            (account.Status, account.Header("Access-Control-Allow-Origin"), account.Header("Allow")));
    }

    [Theory]
    [InlineData("POST", "/api/v3/breaches", 405)]
    [InlineData("DELETE", "/api/v3/breachedaccount/a@example.com", 405)]
    [InlineData("GET", "/", 404)]
    [InlineData("GET", "/api/v3", 404)]
    public async Task Unknown_path_or_method_is_refused_in_JSON(string method, string path, int status)
    {
        var reply = await Web.GetAsync(path, method: method);
        Assert.Equal(status, reply.Status);
        Assert.Equal(status, reply.Json.GetProperty("statusCode").GetInt32());
    }

    [Fact]
    public async Task Logos_are_PNGs_from_the_own_address()
    {
        var path = (await Web.GetAsync("/api/v3/breach/Alpha")).Json.GetProperty("LogoPath").GetString()!;
        var logo = await Web.GetAsync(new Uri(path).AbsolutePath, agent: null);
        Assert.Equal((200, "image/png", "nosniff"), (logo.Status, logo.Header("Content-Type"), logo.Header("X-Content-Type-Options")));
        Assert.Equal([0x89, (byte)'P', (byte)'N', (byte)'G'], logo.Body[..4]);
        Assert.Equal(404, (await Web.GetAsync("/logos/Nothing.png")).Status);
        Assert.Equal(404, (await Web.GetAsync("/logos/..%2Fids.json")).Status);
    }

    [Fact]
    public async Task Health_and_readiness_return_healthy()
    {
        var well = (200, """{"status":"healthy"}""");
        Assert.Equal(well, await Of("/healthz"));
        Assert.Equal(well, await Probe.AskUntilAsync(well, () => Of("/readyz")));

        async Task<(int, string)> Of(string path)
        {
            var reply = await Web.GetAsync(path, agent: null);
            return (reply.Status, reply.Text);
        }
    }
}
