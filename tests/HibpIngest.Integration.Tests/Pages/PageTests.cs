using System.Xml.Linq;
using HibpIngest.Api.Callers;
using HibpIngest.Api.Pages;

namespace HibpIngest.Integration.Tests.Pages;

/// <summary>Tests the pages and the search's requests as a program sees them.</summary>
public sealed partial class PageTests(SiteFixture site) : IClassFixture<SiteFixture>
{
    private static readonly (string, string) SameOrigin = ("Sec-Fetch-Site", "same-origin");

    [Theory]
    [InlineData("/")]
    [InlineData("/breaches")]
    [InlineData("/breach/Alpha")]
    [InlineData("/breach/Hostile")]
    [InlineData("/privacy")]
    public async Task Page_allows_only_its_own_scripts_and_styles_and_is_small(string path)
    {
        var page = await site.Web.GetAsync(path, headers: ("accept-encoding", "gzip"));
        Assert.Equal((200, "text/html; charset=utf-8"), (page.Status, page.Header("Content-Type")));
        Assert.Equal(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
            + "base-uri 'none'; frame-ancestors 'none'", page.Header("Content-Security-Policy"));
        Assert.Equal(("nosniff", "no-store", "no-referrer"),
            (page.Header("X-Content-Type-Options"), page.Header("Cache-Control"), page.Header("Referrer-Policy")));
        var html = page.Unzipped;
        Assert.DoesNotContain("style=", html, StringComparison.Ordinal);
        var sizes = page.Body.Length;
        foreach (var asset in AssetAddress().Matches(html).Select(match => match.Groups["address"].Value).Distinct())
        {
            var file = await site.Web.GetAsync(asset, headers: ("accept-encoding", "gzip"));
            Assert.Equal((200, "public, max-age=31536000, immutable"), (file.Status, file.Header("Cache-Control")));
            sizes += file.Body.Length;
        }
        Assert.InRange(sizes, 2_000, 60 * 1024);
    }

    [Fact]
    public async Task Pages_exist_only_with_link_keys()
    {
        await using var web = await site.StartAsync(hasPages: false);
        string[] paths = ["/", "/breaches", "/breach/Alpha", "/privacy", "/search/range/00000A", "/robots.txt", "/breaches.atom"];
        foreach (var path in paths)
        {
            var reply = await web.GetAsync(path, headers: ("accept", "text/html"));
            Assert.Equal((404, "application/json; charset=utf-8"), (reply.Status, reply.Header("Content-Type")));
        }
    }

    [Fact]
    public async Task Unknown_address_is_a_page_for_a_browser_and_json_for_a_program()
    {
        foreach (var path in (string[])["/nothing", "/breach/Hidden", "/breach/Nothing"])
        {
            var page = await site.Web.GetAsync(path, headers: ("accept", "text/html,*/*;q=0.8"));
            Assert.Equal((404, "text/html; charset=utf-8"), (page.Status, page.Header("Content-Type")));
            Assert.Contains("Page not found", page.Text, StringComparison.Ordinal);
        }
        var json = await site.Web.GetAsync("/nothing");
        Assert.Equal((404, "application/json; charset=utf-8"), (json.Status, json.Header("Content-Type")));
    }

    [Fact]
    public async Task Search_answers_a_page_of_this_server_with_its_ticket_only()
    {
        await using var web = await site.StartAsync(proxies: 1);
        var (here, there) = (("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-For", "198.51.100.1"));
        var ticket = await web.GetTicketAsync(here);
        async Task<int> AskAsync(params (string, string)[] headers) =>
            (await web.GetAsync("/search/range/ABCDEF", headers: headers)).Status;

        Assert.Equal(200, await AskAsync(here, SameOrigin, ticket));
        // Another address of the same network.
        Assert.Equal(200, await AskAsync(("X-Forwarded-For", "192.0.2.200"), SameOrigin, ticket));
        Assert.Equal(403, await AskAsync(there, SameOrigin, ticket));
        Assert.Equal(403, await AskAsync(here, ticket));
        Assert.Equal(403, await AskAsync(here, ("Sec-Fetch-Site", "cross-site"), ticket));
        Assert.Equal(403, await AskAsync(here, SameOrigin));
        Assert.Equal(403, (await web.GetAsync("/search/catalogue.json")).Status);
        foreach (var prefix in (string[])["ABCDE", "ABCDEF0", "ABCDEG"])
            Assert.Equal(400, (await web.GetAsync($"/search/range/{prefix}", headers: [here, SameOrigin, ticket])).Status);
    }

    [Fact]
    public async Task Search_is_limited_per_network_and_minute()
    {
        await using var web = await site.StartAsync(proxies: 1);
        var (here, there) = (("X-Forwarded-For", "203.0.113.7"), ("X-Forwarded-For", "203.0.114.7"));
        for (var i = 0; i < NetworkLimits.SearchesPerMinute; i++)
            Assert.Equal(200, (await web.GetAsync("/search/catalogue.json", headers: [here, SameOrigin])).Status);
        var refused = await web.GetAsync("/search/catalogue.json", headers: [here, SameOrigin]);
        Assert.Equal(429, refused.Status);
        Assert.InRange(int.Parse(refused.Header("Retry-After"), CultureInfo.InvariantCulture), 1, 60);
        Assert.Equal(200, (await web.GetAsync("/search/catalogue.json", headers: [there, SameOrigin])).Status);
    }

    [Fact]
    public async Task Search_responses_are_padded_and_show_no_sensitive_breach()
    {
        var ticket = await site.Web.GetTicketAsync();
        async Task<WebReply> AskAsync(string address) => await site.Web.GetAsync(
            $"/search/range/{HashOf(address)[..6]}", headers: [SameOrigin, ticket, ("accept-encoding", "gzip")]);

        var found = await AskAsync(SiteFixture.InTwo);
        Assert.Contains($"{HashOf(SiteFixture.InTwo)[6..]}:Alpha,Beta\n", found.Text, StringComparison.Ordinal);
        foreach (var reply in (WebReply[])[found, await AskAsync(SiteFixture.InSensitive), await AskAsync("nobody@example.com")])
        {
            Assert.Equal((200, SearchEndpoints.PaddedTo, "no-store"), (reply.Status, reply.Body.Length, reply.Header("Cache-Control")));
            Assert.Equal("", reply.Header("Content-Encoding"));
            Assert.DoesNotContain("Gamma", reply.Text, StringComparison.Ordinal);
        }
        var password = ClientCorpus.Passwords[0].Hash(HibpIngest.Passwords.HashMode.Sha1);
        var range = await site.Web.GetAsync($"/search/password/{password[..5]}", headers: [SameOrigin, ticket]);
        Assert.Equal((200, 0), (range.Status, range.Body.Length % SearchEndpoints.PaddedTo));
        Assert.Contains($"{password[5..]}:{ClientCorpus.Passwords[0].Count}", range.Text, StringComparison.Ordinal);

        var catalogue = await site.Web.GetAsync("/search/catalogue.json", headers: SameOrigin);
        Assert.Equal(
            ["Alpha", "Beta", "Hostile"],
            catalogue.Json.GetProperty("breaches").EnumerateArray().Select(breach => breach.GetProperty("name").GetString()!).Order());
    }

    [Fact]
    public async Task Feed_lists_the_newest_breaches()
    {
        var feed = XDocument.Parse((await site.Web.GetAsync("/breaches.atom")).Text).Root!;
        var atom = feed.GetDefaultNamespace();
        var entries = feed.Elements(atom + "entry").ToList();
        Assert.Equal(4, entries.Count);
        var alpha = Assert.Single(entries, entry => (string)entry.Element(atom + "title")! == "Alpha Games");
        Assert.Equal("https://api.example/breach/Alpha", (string)alpha.Element(atom + "id")!);
        Assert.Contains("<em>Alpha</em>", (string)alpha.Element(atom + "content")!, StringComparison.Ordinal);
    }

    private static string HashOf(string address) => Convert.ToHexString(
        System.Security.Cryptography.SHA1.HashData(System.Text.Encoding.ASCII.GetBytes(address)));

    [GeneratedRegex("\"(?<address>/assets/[^\"]+)\"", RegexOptions.ExplicitCapture, 60_000)]
    private static partial Regex AssetAddress();
}
