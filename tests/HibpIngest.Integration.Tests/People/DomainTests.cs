using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using System.Text.RegularExpressions;
using HibpIngest.Delivery;
using HibpIngest.Messages;
using HibpIngest.People;
using HibpIngest.Pipeline.People;
using HibpIngest.Pipeline.Subscribers;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Integration.Tests.People;

/// <summary>
/// Tests that people and owners of API keys get a domain by a mail, a DNS record or a file, of the tests' own servers, and lose it without.
/// </summary>
public sealed partial class DomainTests
{
    private const string Domain = "contoso.com";
    private const string Contact = "admin@example.com";
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
            var record = (await AskAsync(web, "generatednstoken", key)).Json.GetProperty("txtRecordValue").GetString()!;
            Assert.StartsWith("hibp-verify=dweb_", record, StringComparison.Ordinal);
            Assert.Equal(record, (await AskAsync(web, "generatednstoken", key)).Json.GetProperty("txtRecordValue").GetString());

            await AssertRefusedAsync(web, 404, "No hibp-verify TXT records were found on the domain.");
            dns.Records[Domain] = ["v=spf1 -all", "hibp-verify=dweb_other"];
            await AssertRefusedAsync(web, 404, $"Expected a TXT record of {record} but instead found hibp-verify=dweb_other");
            dns.IsDown = true;
            Assert.Equal(503, (await AskAsync(web, "verifydnstoken", key)).Status);
            dns.IsDown = false;
            Assert.Empty(await rig.Context.Queues.Get(QueueNames.Commands).PeekAsync(32, None));

            dns.Records[Domain] = [new string('x', 600), "hibp-verify=dweb_other", record];
            var proven = await AskAsync(web, "verifydnstoken", key);
            Assert.Equal((200, ""), (proven.Status, proven.Text));
            // Another key's owner can't use the record.
            Assert.Equal(404, (await AskAsync(web, "verifydnstoken", other)).Status);
            await rig.RunToEndAsync();

            async Task AssertRefusedAsync(WebRig from, int status, string message)
            {
                var refused = await AskAsync(from, "verifydnstoken", key);
                Assert.Equal((status, message), (refused.Status, refused.Json.GetProperty("message").GetString()));
            }
        }
        // A running server knows keys for some seconds.
        await using var fresh = await rig.StartWebAsync(dns: dns.Setting);
        Assert.Contains("\"ann\"", (await fresh.GetAsync($"/api/v3/breacheddomain/{Domain}", key)).Text, StringComparison.Ordinal);
        Assert.Contains(Domain, (await fresh.GetAsync("/api/v3/subscribeddomains", key)).Text, StringComparison.Ordinal);
        Assert.Equal(403, (await fresh.GetAsync($"/api/v3/breacheddomain/{Domain}", other)).Status);
        var again = await AskAsync(fresh, "verifydnstoken", key);
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
            var refused = await AskAsync(web, endpoint, key, body);
            Assert.Equal(status, refused.Status);
            Assert.StartsWith(message, refused.Json.GetProperty("message").GetString(), StringComparison.Ordinal);
        }
        Assert.Equal(403, (await AskAsync(web, "generatednstoken", await web.AddKeyAsync("search", KeyScopes.Search))).Status);
        Assert.Equal(401, (await AskAsync(web, "generatednstoken", null)).Status);
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
        Assert.Empty(await rig.Context.Database.ListProofsAsync(None));

        async Task CheckAfterAsync(TimeSpan time)
        {
            clock.Advance(time);
            await rig.Context.Get<ProvenDomains>().CheckAsync(None);
            Assert.Equal([Domain], await DomainsAsync());
        }

        async Task<IReadOnlyList<string>> DomainsAsync() => (await rig.Context.ApiKeys.FindAsync(key, None))!.Domains;
    }

    [Fact]
    public async Task Person_proves_a_domain_by_mail_is_notified_and_sees_its_accounts()
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        await using var web = await rig.StartWebAsync(dns: dns.Setting);
        await DropAsync(rig, "First", $"ann@{Domain}", $"+bob@{Domain}", "ann@example.net");
        await PostAsync(web, "/domains", $"domain=%20Contoso.COM&proof=security&email=ignored%40example.com", "Check the mailbox");
        await rig.RunToEndAsync();
        var mail = rig.Mails().Single();
        Assert.Equal(($"security@{Domain}", $"Confirm the domain {Domain} for breach notifications"), (mail.To, mail.Mail.Subject));
        var link = PeopleRig.LinkIn(mail.Mail, "domains/confirm");

        // Mail scanners follow links.
        Assert.Contains($"<form method=\"post\" action=\"{link}\">", (await web.GetAsync(link)).Text, StringComparison.Ordinal);
        await SignInAsync(rig, web, $"security@{Domain}");
        Assert.Empty(await SubscribersAsync(rig));
        Assert.Single(rig.Mails());
        await PostAsync(web, link, "", "The domain is confirmed");
        await rig.RunToEndAsync();
        Assert.Equal([new Subscription($"security@{Domain}", Domain)], await SubscribersAsync(rig));
        Assert.Equal($"You are notified of breaches with addresses of {Domain}", rig.LastMail().Subject);
        await DropAsync(rig, "Second", $"eve@{Domain}");
        Assert.Equal($"1 email address of {Domain} in leaked data: Second", rig.LastMail().Subject);

        // A running server knows the catalogue for some time.
        await using var fresh = await rig.StartWebAsync(dns: dns.Setting);
        await SignInAsync(rig, fresh, $"security@{Domain}");
        var open = PeopleRig.LinkIn(rig.LastMail(), "domains/open");
        Assert.Equal(200, (await fresh.GetAsync(open)).Status);
        var opened = await fresh.PostFormAsync(open, "");
        Assert.Equal((303, "/domains/accounts"), (opened.Status, opened.Header("Location")));
        var set = opened.Header("Set-Cookie");
        Assert.EndsWith("; max-age=1800; path=/; secure; samesite=strict; httponly", set, StringComparison.Ordinal);
        var cookie = ("Cookie", set[..set.IndexOf(';', StringComparison.Ordinal)]);

        var page = (await fresh.GetAsync("/domains/accounts", headers: cookie)).Text;
        foreach (var alias in (string[])["ann", "&#x2B;bob", "eve"])
            Assert.Contains($"<bdi>{alias}@{Domain}</bdi>", page, StringComparison.Ordinal);
        Assert.DoesNotContain("example.net", page, StringComparison.Ordinal);
        var csv = await fresh.GetAsync("/domains/accounts.csv", headers: cookie);
        Assert.Equal("text/csv; charset=utf-8", csv.Header("Content-Type"));
        Assert.Equal($"email,breach,date\r\n'+bob@{Domain},First,\r\nann@{Domain},First,\r\neve@{Domain},Second,\r\n", csv.Text);

        // A link works once, and the cookie is the owner's only.
        Assert.Equal(400, (await fresh.PostFormAsync(open, "")).Status);
        foreach (var wrong in (string[])["a=b", cookie.Item2[..^4] + "AAAA", cookie.Item2 + "A"])
        {
            Assert.Equal(400, (await fresh.GetAsync("/domains/accounts", headers: ("Cookie", wrong))).Status);
            Assert.Equal(400, (await fresh.GetAsync("/domains/accounts.csv", headers: ("Cookie", wrong))).Status);
        }
        var closed = await fresh.PostFormAsync("/domains/close", "", cookie);
        Assert.Equal((303, "/domains"), (closed.Status, closed.Header("Location")));
        Assert.StartsWith("__Host-hibp-domain=; expires=Thu, 01 Jan 1970", closed.Header("Set-Cookie"), StringComparison.Ordinal);
        ((TestClock)rig.Pipeline.Time).Advance(TimeSpan.FromMinutes(30));
        Assert.Equal(400, (await fresh.GetAsync("/domains/accounts", headers: cookie)).Status);
    }

    [Fact]
    public async Task Link_to_sign_in_expires_after_15_minutes_and_is_limited()
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        await using var web = await rig.StartWebAsync(dns: dns.Setting);
        await rig.Pipeline.ImportAsync((Contact, Domain), (Contact, null), ("other@example.net", "example.net"));
        await SignInAsync(rig, web, "other@example.net");
        Assert.Empty(rig.Mails());
        for (var i = 0; i < 6; i++)
            await rig.HandleAsync(rig.New(CommandKind.SignIn) with { Email = Contact, Domain = Domain, Network = "CB0071" });
        Assert.Equal(5, rig.Mails().Count);
        var open = PeopleRig.LinkIn(rig.LastMail(), "domains/open");
        ((TestClock)rig.Pipeline.Time).Advance(SignIn.ValidFor);
        Assert.Equal(400, (await web.PostFormAsync(open, "")).Status);
        foreach (var wrong in (string[])
        [
            "/domains/open", "/domains/open?t=", open + "0", open[..^1] + "g", "/domains/open?t=" + new string('0', 64),
        ])
            Assert.Equal((wrong, 400), (wrong, (await web.PostFormAsync(wrong, "")).Status));
        await rig.Context.SignIns.DeleteExpiredAsync(rig.Pipeline.Time.GetUtcNow(), None);
        Assert.Null(await rig.Context.SignIns.TakeAsync(open[^SignIn.SecretLength..], None));
    }

    [Theory]
    [InlineData("dns")]
    [InlineData("file")]
    public async Task Person_proves_a_domain_by_what_it_publishes_and_loses_it_without(string proof)
    {
        await using var dns = new DnsTestServer();
        await using var files = await FileServer.StartAsync(Domain);
        await using var rig = await StartAsync(dns, files);
        await using var web = await rig.StartWebAsync(dns: dns.Setting);
        var form = $"domain={Domain}&proof={proof}&email={Contact}";
        var record = Record().Match(await PostAsync(web, "/domains", form, "Prove that you own the domain")).Value;
        Assert.Equal(rig.Context.Links!.RecordOf(Contact, Domain), record);
        // The web server's file is read by the pipeline only.
        await PostAsync(web, "/domains", $"{form}&published=yes", proof == "dns" ? "was not found" : "The file is being checked");
        await rig.RunToEndAsync();
        Assert.Empty(rig.Mails());

        Publish(record);
        await PostAsync(web, "/domains", $"{form}&published=yes", proof == "dns" ? "Check the mailbox" : "The file is being checked");
        await rig.RunToEndAsync();
        Assert.Equal([Contact], rig.Mails().Select(one => one.To));
        await PostAsync(web, PeopleRig.LinkIn(rig.LastMail(), "domains/confirm"), "", "The domain is confirmed");
        await rig.RunToEndAsync();
        Assert.Equal([new Subscription(Contact, Domain)], await SubscribersAsync(rig));

        var clock = (TestClock)rig.Pipeline.Time;
        clock.Advance(TimeSpan.FromDays(90));
        await CheckAsync(2); // succeeds
        Publish("hibp-verify=dweb_other");
        clock.Advance(TimeSpan.FromDays(89));
        await CheckAsync(2); // not due
        clock.Advance(TimeSpan.FromDays(1));
        await CheckAsync(3);
        Assert.Equal($"The proof of {Domain} is missing", rig.LastMail().Subject);
        clock.Advance(TimeSpan.FromDays(7));
        Assert.Single(await SubscribersAsync(rig));
        await CheckAsync(4);
        Assert.Equal((Contact, $"The proof of {Domain} has ended"), (rig.Mails()[^1].To, rig.LastMail().Subject));
        Assert.Empty(await SubscribersAsync(rig));
        Assert.Empty(await rig.Context.Database.ListProofsAsync(None));
        await SignInAsync(rig, web, Contact);
        await CheckAsync(4);

        void Publish(string line)
        {
            if (proof == "dns")
                dns.Records[Domain] = [line];
            else
                files.Content = $"{line}\r\n";
        }

        async Task CheckAsync(int mails)
        {
            await rig.Context.Get<ProvenDomains>().CheckAsync(None);
            Assert.Equal(mails, rig.Mails().Count);
        }
    }

    [Fact]
    public async Task Key_gets_a_domain_by_mail_for_a_year()
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        string text;
        await using (var web = await rig.StartWebAsync(dns: dns.Setting))
        {
            text = await web.AddKeyAsync("owner", KeyScopes.Verify);
            foreach (var (body, message) in ((string, string)[])
            [
                ($$"""{"DomainName":"{{Domain}}"}""", "No emailAlias field was passed in the request body."),
                ($$"""{"DomainName":"{{Domain}}","EmailAlias":"dns"}""",
                    "The emailAlias is expected to be one of: security, hostmaster, postmaster, webmaster"),
            ])
            {
                var refused = await AskAsync(web, "sendemail", text, body);
                Assert.Equal((400, message), (refused.Status, refused.Json.GetProperty("message").GetString()));
            }
            var sent = await AskAsync(web, "sendemail", text, $$"""{"DomainName":"{{Domain}}","EmailAlias":"webmaster"}""");
            Assert.Equal((200, ""), (sent.Status, sent.Text));
            await rig.RunToEndAsync();
            Assert.Equal([$"webmaster@{Domain}"], rig.Mails().Select(one => one.To));
            Assert.Equal($"Let the API key owner see the addresses of {Domain}?", rig.LastMail().Subject);
            // The limit of the mailbox is not used up by it, but a second mail for a key exceeds its own.
            await AskAsync(web, "sendemail", text, $$"""{"DomainName":"{{Domain}}","EmailAlias":"webmaster"}""");
            await rig.RunToEndAsync();
            Assert.Single(rig.Mails());
            await PostAsync(web, "/domains", $"domain={Domain}&proof=webmaster", "Check the mailbox");
            await rig.RunToEndAsync();
            Assert.Equal(2, rig.Mails().Count);
            await PostAsync(web, PeopleRig.LinkIn(rig.Mails()[0].Mail, "domains/confirm"), "", "The domain is confirmed");
            await rig.RunToEndAsync();
        }
        var key = ApiKey.HashOf(text);
        Assert.Equal([Domain], await DomainsAsync());
        Assert.Empty(await SubscribersAsync(rig));
        var clock = (TestClock)rig.Pipeline.Time;
        clock.Advance(TimeSpan.FromDays(365) - TimeSpan.FromSeconds(1));
        await rig.Context.Get<ProvenDomains>().CheckAsync(None);
        Assert.Equal([Domain], await DomainsAsync());
        clock.Advance(TimeSpan.FromSeconds(1));
        await rig.Context.Get<ProvenDomains>().CheckAsync(None);
        Assert.Empty(await DomainsAsync());
        Assert.Equal(($"webmaster@{Domain}", $"The proof of {Domain} has ended"), (rig.Mails()[^1].To, rig.LastMail().Subject));

        async Task<IReadOnlyList<string>> DomainsAsync() => (await rig.Context.ApiKeys.FindAsync(key, None))!.Domains;
    }

    [Fact]
    public async Task Mail_server_that_is_down_for_three_days_keeps_no_lapsed_domain()
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        await AddProofAsync(rig, ProofKind.Webmaster);
        await using var down = NotificationSenders.Create("smtp://127.0.0.1:1");
        rig.With(rig.Context with { Sender = down });
        var clock = (TestClock)rig.Pipeline.Time;
        clock.Advance(TimeSpan.FromDays(365 + 3) - TimeSpan.FromSeconds(1));
        await rig.Context.Get<ProvenDomains>().CheckAsync(None);
        Assert.Single(await SubscribersAsync(rig));
        clock.Advance(TimeSpan.FromSeconds(1));
        await rig.Context.Get<ProvenDomains>().CheckAsync(None);
        Assert.Empty(await SubscribersAsync(rig));
    }

    [Fact]
    public async Task Renewal_that_nobody_confirmed_keeps_no_domain_from_its_check()
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        await AddProofAsync(rig, ProofKind.Dns);
        var wanted = new SubscriptionRequest(Contact, Domain, ProofKind.Dns);
        ((TestClock)rig.Pipeline.Time).Advance(TimeSpan.FromDays(90));
        await rig.Context.Database.RequestSubscriptionAsync(Guid.NewGuid(), wanted, [], TimeSpan.FromDays(7), None);
        await rig.Context.Get<ProvenDomains>().CheckAsync(None);
        Assert.NotNull(Assert.Single(await rig.Context.Database.ListProofsAsync(None)).FailedAt);
    }

    [Fact]
    public async Task Key_that_may_no_longer_add_domains_gets_none_by_a_link()
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        var key = new ApiKey { Hash = new string('a', 64), Name = "owner", Rpm = 10, Scopes = KeyScopes.Verify };
        await rig.Context.ApiKeys.CreateAsync(None);
        await rig.Context.ApiKeys.AddAsync(key, None);
        await rig.HandleAsync(rig.New(CommandKind.RequestDomain) with { Domain = Domain, Proof = ProofKind.Security, Key = key.Hash });
        var link = PeopleRig.LinkIn(rig.LastMail(), "domains/confirm");
        await rig.Context.ApiKeys.RemoveAsync(key.Hash, None);
        await rig.Context.ApiKeys.AddAsync(key with { Scopes = KeyScopes.Search }, None);
        await rig.HandleAsync(rig.Follow(CommandKind.ConfirmDomain, link));
        Assert.Empty((await rig.Context.ApiKeys.FindAsync(key.Hash, None))!.Domains);
        Assert.Empty(await rig.Context.Database.ListProofsAsync(None));
    }

    [Fact]
    public async Task Checks_that_anybody_causes_are_limited_and_not_repeated()
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        var wanted = rig.New(CommandKind.RequestDomain) with
        {
            Domain = Domain,
            Proof = ProofKind.Dns,
            Email = Contact,
            Network = "CB0071",
        };
        dns.IsDown = true;
        await rig.HandleAsync(wanted); // not deferred
        dns.IsDown = false;
        dns.Records[Domain] = [rig.Context.Links!.RecordOf(Contact, Domain)];
        for (var i = 1; i < 20; i++)
            await rig.HandleAsync(wanted with { Id = Guid.NewGuid(), Email = "other@example.com" });
        await rig.HandleAsync(wanted with { Id = Guid.NewGuid() });
        Assert.Empty(rig.Mails());
        await rig.HandleAsync(wanted with { Id = Guid.NewGuid(), Network = "CB0072" });
        Assert.Single(rig.Mails());
    }

    [Fact]
    public async Task Address_that_ended_the_mails_of_a_domain_is_asked_once_in_30_days()
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        await AddProofAsync(rig, ProofKind.Security);
        await rig.Context.Get<SubscriberOperations>().RemoveAsync([Contact], [Domain], SuppressionReason.Unsubscribed, None);
        dns.Records[Domain] = [rig.Context.Links!.RecordOf(Contact, Domain)];
        for (var i = 0; i < 3; i++)
        {
            await rig.HandleAsync(rig.New(CommandKind.RequestDomain) with { Domain = Domain, Proof = ProofKind.Dns, Email = Contact });
            ((TestClock)rig.Pipeline.Time).Advance(TimeSpan.FromDays(1));
        }
        Assert.Single(rig.Mails());
    }

    [Fact]
    public async Task Mailbox_of_a_number_proves_nothing()
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        var command = rig.New(CommandKind.RequestDomain) with { Domain = Domain, Proof = (ProofKind)20231234 };
        Assert.NotNull(await rig.Context.Get<ProvenDomains>().FindRefusalAsync(command, None));
        // Neither does a sealed command carry one.
        await Assert.ThrowsAsync<JsonException>(() => rig.HandleAsync(command));
        Assert.Empty(rig.Mails());
    }

    [Fact]
    public async Task First_failure_is_recorded_once_its_mail_is_sent_or_after_three_days()
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        await AddProofAsync(rig, ProofKind.Dns);
        await using var down = NotificationSenders.Create("smtp://127.0.0.1:1");
        rig.With(rig.Context with { Sender = down });
        var clock = (TestClock)rig.Pipeline.Time;
        clock.Advance(TimeSpan.FromDays(90 + 3) - TimeSpan.FromSeconds(1));
        await rig.Context.Get<ProvenDomains>().CheckAsync(None);
        Assert.Null((await rig.Context.Database.ListProofsAsync(None)).Single().FailedAt);
        clock.Advance(TimeSpan.FromSeconds(1));
        await rig.Context.Get<ProvenDomains>().CheckAsync(None);
        Assert.NotNull((await rig.Context.Database.ListProofsAsync(None)).Single().FailedAt);
    }

    [Theory]
    [InlineData("domain=no+domain&proof=dns", "That is not a domain")]
    [InlineData("proof=dns", "That is not a domain")]
    [InlineData("domain=gmail.com&proof=security", "Nobody can prove this domain")]
    [InlineData("domain=co.uk&proof=security", "Nobody can prove this domain")]
    [InlineData($"domain={Domain}", "Choose how")]
    [InlineData($"domain={Domain}&proof=magic", "Choose how")]
    [InlineData($"domain={Domain}&proof=dns", "Enter your email address")]
    [InlineData($"domain={Domain}&proof=file&email=nobody", "Enter your email address")]
    public async Task Wrong_form_is_refused_with_the_reason(string form, string expected)
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        await using var web = await rig.StartWebAsync(dns: dns.Setting);
        var refused = await web.PostFormAsync("/domains", form);
        Assert.Equal(400, refused.Status);
        Assert.Contains(expected, refused.Text, StringComparison.Ordinal);
        Assert.Equal(400, (await web.PostFormAsync("/domains/signin", form.Replace(Domain, "", StringComparison.Ordinal))).Status);
        Assert.Empty(await rig.Context.Queues.Get(QueueNames.Commands).PeekAsync(32, None));
    }

    [Fact]
    public async Task Domain_that_is_not_proven_causes_no_mail_even_if_the_web_app_forwards_it()
    {
        await using var dns = new DnsTestServer();
        await using var rig = await StartAsync(dns);
        var other = rig.Context.Links!.RecordOf("other@example.net", Domain);
        dns.Records[Domain] = [other];
        dns.Records["gmail.com"] = [rig.Context.Links.RecordOf(Contact, "gmail.com")];
        var wanted = rig.New(CommandKind.RequestDomain) with { Email = Contact, Domain = Domain, Proof = ProofKind.Dns };
        foreach (var command in (PersonCommand[])
        [
            wanted, wanted with { Proof = null }, wanted with { Domain = "gmail.com" }, wanted with { Email = null },
            wanted with { Key = new string('a', 64), Proof = ProofKind.Security },
            wanted with { Domain = "gmail.com", Proof = ProofKind.Security }, wanted with { Kind = CommandKind.SignIn },
        ])
        {
            await rig.HandleAsync(command with { Id = Guid.NewGuid() });
        }
        Assert.Empty(rig.Mails());
        // A link for another purpose confirms nothing.
        await rig.HandleAsync(rig.Subscribe(Contact));
        await rig.HandleAsync(rig.Follow(CommandKind.ConfirmDomain, PeopleRig.LinkIn(rig.LastMail(), "verify")));
        Assert.Empty(await SubscribersAsync(rig));
    }

    private static async Task<string> PostAsync(WebRig web, string path, string form, string expected)
    {
        var reply = await web.PostFormAsync(path, form);
        Assert.True(reply.Status == 200, $"{path}: {reply}");
        Assert.Contains(expected, reply.Text, StringComparison.Ordinal);
        return reply.Text;
    }

    /// <summary>Subscribes the contact to the domain, which is proven.</summary>
    private static async Task AddProofAsync(PeopleRig rig, ProofKind kind)
    {
        await rig.Pipeline.ImportAsync((Contact, Domain));
        var due = (await rig.Context.Database.RequestSignInAsync(Guid.NewGuid(), Contact, Domain, [], None)).Due!;
        await rig.Context.Database.PutProofAsync(new DomainProof(DomainProof.HolderOf(due.Subscription), Domain, kind), None);
    }

    private static async Task SignInAsync(PeopleRig rig, WebRig web, string email)
    {
        await PostAsync(web, "/domains/signin", $"domain={Domain}&email={email}", "Check your mail");
        await rig.RunToEndAsync();
    }

    private static async Task DropAsync(PeopleRig rig, string name, params string[] accounts)
    {
        await rig.Pipeline.DropAsync($"{name}.zip", PipelineRig.Zip(("list.txt", string.Join('\n', accounts))));
        await rig.RunToEndAsync();
    }

    private static async Task<IReadOnlyList<Subscription>> SubscribersAsync(PeopleRig rig) =>
        await rig.Context.Database.ListSubscribersAsync(None).ToListAsync(None);

    [GeneratedRegex("hibp-verify=dweb_[0-9a-f]{32}", RegexOptions.None, 1000)]
    private static partial Regex Record();

    private static PersonCommand Command(PeopleRig rig, string key, string domain) =>
        rig.New(CommandKind.VerifyDomain) with { Key = key, Domain = domain };

    private static async Task<PeopleRig> StartAsync(DnsTestServer dns, FileServer? files = null)
    {
        var rig = await PeopleRig.StartAsync(TestClock.Standing());
        return rig.With(rig.Context with
        {
            Records = files is null ? new DomainRecords(dns.Setting) : new DomainRecords(dns.Setting, files.CreateHandler()),
        });
    }

    private static async Task<WebReply> AskAsync(
        WebRig web, string endpoint, string? key, string body = $$"""{"DomainName":"{{Domain}}"}""")
    {
        using var content = new StringContent(body, Encoding.UTF8, "application/json");
        return await web.PostAsync(
            $"/api/v3/domainverification/{endpoint}", content, key is null ? [] : [("hibp-api-key", key)]);
    }

    /// <summary>The web server of a domain, with its certificate.</summary>
    private sealed class FileServer : IAsyncDisposable
    {
        private readonly X509Certificate2 _certificate;
        private readonly WebApplication _server;

        private FileServer(string domain)
        {
            _certificate = SmtpTestServer.CreateCertificate(domain);
            var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
            builder.WebHost.UseKestrelCore().UseKestrelHttpsConfiguration().ConfigureKestrel(
                server => server.Listen(IPAddress.Loopback, 0, listen => listen.UseHttps(_certificate)));
            builder.Services.AddLogging();
            _server = builder.Build();
            _server.Run(context =>
            {
                if (Content is not null && context.Request.Path == "/.well-known/hibp-verify.txt" && context.Request.Host.Host == domain)
                    return context.Response.WriteAsync(Content);
                context.Response.StatusCode = StatusCodes.Status404NotFound;
                return Task.CompletedTask;
            });
        }

        /// <summary>Null: there is no file.</summary>
        public string? Content { get; set; }

        public static async Task<FileServer> StartAsync(string domain)
        {
            var server = new FileServer(domain);
            await server._server.StartAsync();
            return server;
        }

        /// <summary>Connects to this server instead of the domain's, and trusts its certificate.</summary>
        public SocketsHttpHandler CreateHandler() => new PublicConnections(
            allowsLoopback: false, (_, _) => Task.FromResult<IPAddress[]>([IPAddress.Parse("93.184.216.34")]), ConnectAsync)
            .CreateHandler([_certificate]);

        public async ValueTask DisposeAsync()
        {
            await _server.DisposeAsync();
            _certificate.Dispose();
        }

        private async Task<Stream> ConnectAsync(IPAddress[] addresses, int port, CancellationToken cancellationToken)
        {
            Assert.Equal(443, port);
            var here = new Uri(_server.Services.GetRequiredService<IServer>().Features.GetRequiredFeature<IServerAddressesFeature>()
                .Addresses.Single());
            var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
            await socket.ConnectAsync(IPAddress.Loopback, here.Port, cancellationToken);
            return new NetworkStream(socket, ownsSocket: true);
        }
    }
}
