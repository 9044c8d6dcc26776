namespace HibpIngest.Integration.Tests.Api;

public sealed class AccountApiTests(WebFixture fixture) : IClassFixture<WebFixture>
{
    private WebRig Web => fixture.Web;

    private string Key => fixture.Key;

    [Theory]
    [InlineData("all%40example.com", "Alpha,Beta")]
    [InlineData("all@example.com", "Alpha,Beta")]
    [InlineData("%20ALL@Example.COM%20", "Alpha,Beta")]
    [InlineData("alpha+tag@example.com", "Alpha")]
    [InlineData("alpha%2Btag%40example.com", "Alpha")]
    [InlineData("alpha+tag@example.com/", "Alpha")]
    [InlineData("other@example.org", "Alpha")]
    public async Task Account_returns_its_public_breaches_by_name(string account, string names)
    {
        var reply = await Web.GetAsync($"/api/v3/breachedaccount/{account}", Key);
        Assert.Equal((200, "application/json; charset=utf-8"), (reply.Status, reply.Header("Content-Type")));
        Assert.Equal($"[{string.Join(',', names.Split(',').Select(name => $$"""{"Name":"{{name}}"}"""))}]", reply.Text);
        Assert.Equal($"{reply.Body.Length}", reply.Header("Content-Length"));
        Assert.Equal("no-store", reply.Header("Cache-Control"));
        Assert.Equal("no-referrer", reply.Header("Referrer-Policy"));
        Assert.Equal("nosniff", reply.Header("X-Content-Type-Options"));
        Assert.StartsWith("max-age=", reply.Header("Strict-Transport-Security"), StringComparison.Ordinal);
        Assert.Equal("", reply.Header("Access-Control-Allow-Origin"));
    }

    [Theory]
    [InlineData(WebFixture.InGamma)]
    [InlineData(WebFixture.InDelta)]
    [InlineData(WebFixture.InHidden)]
    [InlineData("nobody@example.com")]
    [InlineData("nobody@no-such-domain.example")]
    [InlineData("alpha%20tag@example.com")]
    [InlineData("alpha%252Btag@example.com")]
    public async Task Account_in_no_public_breach_returns_404(string account)
    {
        var reply = await Web.GetAsync($"/api/v3/breachedaccount/{account}", Key);
        Assert.Equal((404, """{"statusCode":404,"message":"Not found"}"""), (reply.Status, reply.Text));
    }

    [Theory]
    [InlineData("")]
    [InlineData("%20")]
    [InlineData("nobody")]
    [InlineData("a%0Ab@example.com")]
    public async Task Invalid_account_returns_400(string account)
    {
        foreach (var endpoint in (string[])["breachedaccount", "pasteaccount"])
        {
            var reply = await Web.GetAsync($"/api/v3/{endpoint}/{account}", Key);
            Assert.Equal(400, reply.Status);
            Assert.Equal(400, reply.Json.GetProperty("statusCode").GetInt32());
        }
    }

    [Theory]
    [InlineData(320, 404)]
    [InlineData(321, 400)]
    public async Task Account_has_at_most_320_characters(int characters, int status)
    {
        var account = $"{new string('a', characters - "@example.com".Length)}@example.com";
        Assert.Equal(status, (await Web.GetAsync($"/api/v3/breachedaccount/{account}", Key)).Status);
    }

    [Theory]
    [InlineData("?truncateResponse=false")]
    [InlineData("?TRUNCATERESPONSE=False")]
    [InlineData("?truncateresponse=false,false")]
    public async Task Untruncated_breaches_have_the_documented_properties_in_order(string query)
    {
        var reply = await Web.GetAsync($"/api/v3/BreachedAccount/{WebFixture.InAlpha}{query}", Key);
        var breach = Assert.Single(reply.Json.EnumerateArray());
        Assert.Equal(
            ["Name", "Title", "Domain", "BreachDate", "AddedDate", "ModifiedDate", "PwnCount", "Description", "LogoPath", "Attribution",
                "DisclosureUrl", "DataClasses", "IsVerified", "IsFabricated", "IsSensitive", "IsRetired", "IsSpamList", "IsMalware",
                "IsSubscriptionFree", "IsStealerLog"],
            breach.EnumerateObject().Select(property => property.Name));
        Assert.Equal("The Alpha breach", breach.GetProperty("Title").GetString());
        Assert.Equal("2013-10-04", breach.GetProperty("BreachDate").GetString());
        Assert.Matches(@"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", breach.GetProperty("AddedDate").GetString());
        Assert.Equal(3, breach.GetProperty("PwnCount").GetInt64());
        Assert.Equal("In 2013, <em>Alpha</em> lost it.", breach.GetProperty("Description").GetString());
        Assert.Equal(
            ["Email addresses", "Passwords"], breach.GetProperty("DataClasses").EnumerateArray().Select(one => one.GetString()!));
    }

    [Theory]
    [InlineData("?domain=beta.example", 200, "Beta")]
    [InlineData("?Domain=BETA.example", 200, "Beta")]
    [InlineData("?domain=gamma.example", 404, "")]
    [InlineData("?domain=example", 404, "")]
    [InlineData("?includeUnverified=false", 200, "Alpha")]
    [InlineData("?IncludeUnverified=false&domain=beta.example", 404, "")]
    [InlineData("?includeUnverified=true", 200, "Alpha,Beta")]
    public async Task Account_query_filters_by_domain_and_verification(string query, int status, string names)
    {
        var reply = await Web.GetAsync($"/api/v3/breachedaccount/{WebFixture.InAll}{query}", Key);
        Assert.Equal(status, reply.Status);
        if (status == 200)
            Assert.Equal(names.Split(','), reply.Names);
    }

    [Fact]
    public async Task Range_returns_hash_suffixes_with_their_public_breaches()
    {
        foreach (var (account, names) in ((string, string)[])[(WebFixture.InAll, "Alpha,Beta"), (WebFixture.InAlpha, "Alpha")])
        {
            var hash = Convert.ToHexString(SHA1.HashData(Encoding.ASCII.GetBytes(account)));
            foreach (var prefix in (string[])[hash[..6], hash[..6].ToLowerInvariant()])
            {
                var reply = await Web.GetAsync($"/api/v3/breachedaccount/range/{prefix}", fixture.AllScopes);
                Assert.Equal((200, "application/json; charset=utf-8"), (reply.Status, reply.Header("Content-Type")));
                var entry = Assert.Single(reply.Json.EnumerateArray(), one => one.GetProperty("hashSuffix").GetString() == hash[6..]);
                Assert.Equal(names.Split(','), entry.GetProperty("websites").EnumerateArray().Select(one => one.GetString()!));
                Assert.Equal(["hashSuffix", "websites"], entry.EnumerateObject().Select(property => property.Name));
                var enterprise = await Web.GetAsync(
                    $"/enterprise/range/search/{prefix}", agent: null, headers: [("Hibp-Enterprise-Api-Key", fixture.AllScopes)]);
                Assert.Equal((200, reply.Text), (enterprise.Status, enterprise.Text));
            }
        }
    }

    [Theory]
    [InlineData(WebFixture.InGamma)]
    [InlineData(WebFixture.InDelta)]
    [InlineData(WebFixture.InHidden)]
    [InlineData("nobody@example.com")]
    public async Task Range_of_an_account_in_no_public_breach_returns_404(string account)
    {
        var prefix = Convert.ToHexString(SHA1.HashData(Encoding.ASCII.GetBytes(account)))[..6];
        var reply = await Web.GetAsync($"/api/v3/breachedaccount/range/{prefix}", fixture.AllScopes);
        Assert.Equal(
            (404, "There are no hashes beginning with that prefix", "text/plain; charset=utf-8"),
            (reply.Status, reply.Text, reply.Header("Content-Type")));
        var enterprise = await Web.GetAsync(
            $"/enterprise/range/search/{prefix}", headers: [("hibp-enterprise-api-key", fixture.AllScopes)]);
        Assert.Equal((404, 404), (enterprise.Status, enterprise.Json.GetProperty("statusCode").GetInt32()));
    }

    [Fact]
    public async Task Range_errors_other_than_401_are_plain_text_except_on_the_enterprise_route()
    {
        foreach (var prefix in (string[])["", "12345", "1234567", "12345G"])
        {
            var reply = await Web.GetAsync($"/api/v3/breachedaccount/range/{prefix}", fixture.AllScopes);
            Assert.Equal((400, "Invalid hex prefix"), (reply.Status, reply.Text));
            var enterprise = await Web.GetAsync(
                $"/enterprise/range/search/{prefix}", headers: [("Hibp-Enterprise-Api-Key", fixture.AllScopes)]);
            Assert.Equal((400, "Invalid hex prefix"), (enterprise.Status, enterprise.Json.GetProperty("message").GetString()));
        }
        var agent = await Web.GetAsync("/api/v3/breachedaccount/range/123456", fixture.AllScopes, agent: null);
        Assert.Equal((403, "API request must include a user agent"), (agent.Status, agent.Text));
        var scope = await Web.GetAsync("/api/v3/breachedaccount/range/123456", Key);
        Assert.Equal((403, "Your HIBP API key does not have access to this resource"), (scope.Status, scope.Text));
        Assert.Equal(401, (await Web.GetAsync("/api/v3/breachedaccount/range/123456")).Json.GetProperty("statusCode").GetInt32());
    }

    [Fact]
    public async Task Domain_owner_receives_sensitive_breaches_too()
    {
        var reply = await Web.GetAsync("/api/v3/breacheddomain/EXAMPLE.com", fixture.AllScopes);
        Assert.Equal(200, reply.Status);
        Assert.Equal(
            """{"all":["Alpha","Beta","Gamma"],"alpha+tag":["Alpha"],"gamma":["Gamma"]}""", reply.Text);
        Assert.Equal("no-store", reply.Header("Cache-Control"));
        Assert.Equal("""{"other":["Alpha"]}""", (await Web.GetAsync("/api/v3/breacheddomain/example.org", fixture.AllScopes)).Text);
    }

    [Theory]
    [InlineData("example.net", 403)]
    [InlineData("sub.example.com", 403)]
    [InlineData("nonsense", 400)]
    [InlineData("", 400)]
    public async Task Domain_of_another_owner_returns_403_and_an_invalid_one_400(string domain, int status)
    {
        var reply = await Web.GetAsync($"/api/v3/breacheddomain/{domain}", fixture.AllScopes);
        Assert.Equal((status, status), (reply.Status, reply.Json.GetProperty("statusCode").GetInt32()));
        Assert.Equal(403, (await Web.GetAsync("/api/v3/breacheddomain/example.com", Key)).Status);
    }

    [Fact]
    public async Task Domain_above_the_plan_returns_403_before_the_first_byte()
    {
        await using var web = await WebRig.StartAsync(fixture.Pipeline.Connection, configure: options => options.DomainMax = 4);
        // The limit counts the accounts delta and hidden as well, whatever breaches they are in.
        Assert.Equal(403, (await web.GetAsync("/api/v3/breacheddomain/example.com", fixture.AllScopes)).Status);
        Assert.Equal(200, (await web.GetAsync("/api/v3/breacheddomain/example.org", fixture.AllScopes)).Status);
        await using var larger = await WebRig.StartAsync(fixture.Pipeline.Connection, configure: options => options.DomainMax = 5);
        Assert.Equal(200, (await larger.GetAsync("/api/v3/breacheddomain/example.com", fixture.AllScopes)).Status);
    }

    [Fact]
    public async Task Subscription_status_and_domains_describe_the_key()
    {
        var status = (await Web.GetAsync("/api/v3/subscription/status", fixture.AllScopes)).Json;
        Assert.Equal(60_000, status.GetProperty("Rpm").GetInt32());
        Assert.Equal("all", status.GetProperty("SubscriptionName").GetString());
        Assert.True(status.GetProperty("IncludesKAnon").GetBoolean());
        Assert.Equal(2, status.GetProperty("MaxBreachedDomains").GetInt32());
        var domains = (await Web.GetAsync("/api/v3/subscribeddomains", fixture.AllScopes)).Json;
        Assert.Equal(["example.com", "example.org"], domains.EnumerateArray().Select(one => one.GetProperty("DomainName").GetString()!));
        Assert.Equal("[]", (await Web.GetAsync("/api/v3/subscribeddomains", Key)).Text);
    }

    [Fact]
    public async Task Head_has_the_length_of_get_and_no_body()
    {
        foreach (var path in (string[])[$"/api/v3/breachedaccount/{WebFixture.InAll}", "/api/v3/breachedaccount/nobody@example.com",
            "/api/v3/breaches", "/api/v3/subscription/status"])
        {
            var get = await Web.GetAsync(path, Key);
            var head = await Web.GetAsync(path, Key, "HEAD");
            Assert.Equal((get.Status, get.Header("Content-Length"), 0), (head.Status, head.Header("Content-Length"), head.Body.Length));
        }
        Assert.Equal(200, (await Web.GetAsync("/api/v3/breacheddomain/example.com", fixture.AllScopes, "HEAD")).Status);
    }
}
