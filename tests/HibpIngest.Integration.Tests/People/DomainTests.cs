using System.Text;
using HibpIngest.Delivery;
using HibpIngest.Messages;
using HibpIngest.People;
using HibpIngest.Pipeline.People;

namespace HibpIngest.Integration.Tests.People;

/// <summary>Tests that the owner of an API key gets a domain by a DNS record, of the tests' own server, and loses it without.</summary>
public sealed class DomainTests
{
    private const string Domain = "contoso.com";
    private static readonly CancellationToken None = CancellationToken.None;

    [Fact]
    public async Task Owner_of_a_key_proves_a_domain_by_its_dns_and_sees_its_accounts()
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        await rig.Pipeline.DropAsync("First.zip", PipelineRig.Zip(("list.txt", $"ann@{Domain}")));
        await rig.RunToEndAsync();
        string key, other;
        await using (var web = await rig.StartWebAsync(dns: dns.Setting))
        {
            (key, other) = (await web.AddKeyAsync("owner", KeyScopes.Verify), await web.AddKeyAsync("other", KeyScopes.Verify));
            Assert.Equal(403, (await web.GetAsync($"/api/v3/breacheddomain/{Domain}", key)).Status);
            var record = (await PostAsync(web, "generatednstoken", key)).Json.GetProperty("txtRecordValue").GetString()!;
            Assert.StartsWith("hibp-verify=dweb_", record, StringComparison.Ordinal);
            Assert.Equal(record, (await PostAsync(web, "generatednstoken", key)).Json.GetProperty("txtRecordValue").GetString());

            await AssertRefusedAsync(web, 404, "No hibp-verify TXT records were found on the domain.");
            dns.Records[Domain] = ["v=spf1 -all", "hibp-verify=dweb_other"];
            await AssertRefusedAsync(web, 404, $"Expected a TXT record of {record} but instead found hibp-verify=dweb_other");
            dns.IsDown = true;
            Assert.Equal(503, (await PostAsync(web, "verifydnstoken", key)).Status);
            dns.IsDown = false;
            Assert.Empty(await rig.Context.Queues.Get(QueueNames.Commands).PeekAsync(32, None));

            dns.Records[Domain] = [new string('x', 600), "hibp-verify=dweb_other", record];
            var proven = await PostAsync(web, "verifydnstoken", key);
            Assert.Equal((200, ""), (proven.Status, proven.Text));
            // Another key's owner can't use the record.
            Assert.Equal(404, (await PostAsync(web, "verifydnstoken", other)).Status);
            await rig.RunToEndAsync();

            async Task AssertRefusedAsync(WebRig from, int status, string message)
            {
                var refused = await PostAsync(from, "verifydnstoken", key);
                Assert.Equal((status, message), (refused.Status, refused.Json.GetProperty("message").GetString()));
            }
        }
        // A running server knows keys for some seconds.
        await using var fresh = await rig.StartWebAsync(dns: dns.Setting);
        Assert.Contains("\"ann\"", (await fresh.GetAsync($"/api/v3/breacheddomain/{Domain}", key)).Text, StringComparison.Ordinal);
        Assert.Contains(Domain, (await fresh.GetAsync("/api/v3/subscribeddomains", key)).Text, StringComparison.Ordinal);
        Assert.Equal(403, (await fresh.GetAsync($"/api/v3/breacheddomain/{Domain}", other)).Status);
        var again = await PostAsync(fresh, "verifydnstoken", key);
        Assert.Equal((400, "Domain has already been verified."), (again.Status, again.Json.GetProperty("message").GetString()));
    }

    [Theory]
    [InlineData("{\"DomainName\":\"gmail.com\"}", 403, "This domain has no owner")]
    [InlineData("{\"DomainName\":\"co.uk\"}", 403, "This domain has no owner")]
    [InlineData("{\"DomainName\":\"github.io\"}", 403, "This domain has no owner")]
    [InlineData("{\"DomainName\":\"no domain\"}", 400, "An invalid domain")]
    [InlineData("{}", 400, "An invalid domain")]
    [InlineData("{\"DomainName\":", 400, "Invalid JSON")]
    public async Task Wrong_request_is_refused_with_the_reason(string body, int status, string message)
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        await using var web = await rig.StartWebAsync(dns: dns.Setting);
        var key = await web.AddKeyAsync("owner", KeyScopes.Verify);
        foreach (var endpoint in (string[])["generatednstoken", "verifydnstoken"])
        {
            var refused = await PostAsync(web, endpoint, key, body);
            Assert.Equal(status, refused.Status);
            Assert.StartsWith(message, refused.Json.GetProperty("message").GetString(), StringComparison.Ordinal);
        }
        Assert.Equal(403, (await PostAsync(web, "generatednstoken", await web.AddKeyAsync("search", KeyScopes.Search))).Status);
        Assert.Equal(401, (await PostAsync(web, "generatednstoken", null)).Status);
    }

    [Fact]
    public async Task Pipeline_does_not_trust_the_web_app()
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        await using var web = await rig.StartWebAsync(dns: dns.Setting);
        var verify = ApiKey.HashOf(await web.AddKeyAsync("owner", KeyScopes.Verify));
        var search = ApiKey.HashOf(await web.AddKeyAsync("search"));
        var links = rig.Context.Links!;
        dns.Records[Domain] = [links.RecordOf(search, Domain)];
        dns.Records["gmail.com"] = [links.RecordOf(verify, "gmail.com")];
        foreach (var (key, domain) in ((string, string)[])[(verify, Domain), (search, Domain), (verify, "gmail.com"), ("unknown", Domain)])
            await rig.HandleAsync(Command(rig, key, domain));
        Assert.All(await rig.Context.ApiKeys.ListAsync(None), key => Assert.Empty(key.Domains));
    }

    [Fact]
    public async Task Proof_lapses_after_two_failed_checks_a_week_apart()
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        var clock = (TestClock)rig.Pipeline.Time;
        await using var web = await rig.StartWebAsync(dns: dns.Setting);
        var key = ApiKey.HashOf(await web.AddKeyAsync("owner", KeyScopes.Verify));
        dns.Records[Domain] = [rig.Context.Links!.RecordOf(key, Domain)];
        await rig.HandleAsync(Command(rig, key, Domain));
        await rig.HandleAsync(Command(rig, key, Domain));
        Assert.Equal([Domain], await DomainsAsync());

        dns.Records.Clear();
        await CheckAfterAsync(TimeSpan.FromDays(89)); // not due
        dns.Records[Domain] = [rig.Context.Links.RecordOf(key, Domain)];
        await CheckAfterAsync(TimeSpan.FromDays(1)); // succeeds
        dns.Records.Clear();
        await CheckAfterAsync(TimeSpan.FromDays(90)); // fails
        await CheckAfterAsync(TimeSpan.FromDays(6)); // not due
        dns.IsDown = true;
        await CheckAfterAsync(TimeSpan.FromDays(1)); // proves nothing
        dns.IsDown = false;
        await rig.Context.Get<ProvenDomains>().CheckAsync(None);
        Assert.Empty(await DomainsAsync());
        Assert.Empty(await rig.Context.Database.ListDueProofsAsync(TimeSpan.Zero, TimeSpan.Zero, None));

        async Task CheckAfterAsync(TimeSpan time)
        {
            clock.Advance(time);
            await rig.Context.Get<ProvenDomains>().CheckAsync(None);
            Assert.Equal([Domain], await DomainsAsync());
        }

        async Task<IReadOnlyList<string>> DomainsAsync() => (await rig.Context.ApiKeys.FindAsync(key, None))!.Domains;
    }

    private static PersonCommand Command(PeopleRig rig, string key, string domain) =>
        new(Guid.NewGuid(), rig.Pipeline.Time.GetUtcNow(), CommandKind.VerifyDomain, Key: key, Domain: domain);

    private static async Task<PeopleRig> StartAsync(DnsTestServer dns)
    {
        var rig = await PeopleRig.StartAsync(TestClock.Standing());
        return rig.With(rig.Context with { Records = new DnsRecords(dns.Setting) });
    }

    private static async Task<WebReply> PostAsync(
        WebRig web, string endpoint, string? key, string body = $$"""{"DomainName":"{{Domain}}"}""")
    {
        using var content = new StringContent(body, Encoding.UTF8, "application/json");
        return await web.PostAsync(
            $"/api/v3/domainverification/{endpoint}", content, key is null ? [] : [("hibp-api-key", key)]);
    }
}
