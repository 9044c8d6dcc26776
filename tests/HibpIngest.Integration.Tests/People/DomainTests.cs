using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using HibpIngest.Delivery;
using HibpIngest.People;
using HibpIngest.Pipeline.People;
using HibpIngest.Pipeline.Subscribers;
using Microsoft.AspNetCore.Http;

namespace HibpIngest.Integration.Tests.People;

/// <summary>
/// Tests that people and owners of API keys get a domain by a mail, a DNS record or a file, of the tests' own servers, and lose it without.
/// </summary>
public sealed partial class DomainTests : IAsyncLifetime
{
    private const string Domain = "contoso.com";
    private const string Contact = "admin@example.com";

    private readonly DnsTestServer _dns = new();
    private PeopleRig _rig = null!;

    private TestClock Clock => (TestClock)_rig.Pipeline.Time;

    public async Task InitializeAsync()
    {
        _rig = await PeopleRig.StartAsync(TestClock.Standing());
        _rig.With(_rig.Context with { Records = new DomainRecords(_dns.Setting) });
    }

    public async Task DisposeAsync()
    {
        await _rig.DisposeAsync();
        await _dns.DisposeAsync();
    }

    [Fact]
    public async Task Owner_of_a_key_proves_a_domain_by_its_dns_and_sees_its_accounts()
    {
        await _rig.DropAsync("First", $"ann@{Domain}");
        string key, other;
        await using (var web = await _rig.StartWebAsync(dns: _dns.Setting))
        {
            (key, other) = (await web.AddKeyAsync("owner", KeyScopes.Verify), await web.AddKeyAsync("other", KeyScopes.Verify));
            Assert.Equal(403, (await web.GetAsync($"/api/v3/breacheddomain/{Domain}", key)).Status);
            var record = (await AskAsync(web, "generatednstoken", key)).Json.GetProperty("txtRecordValue").GetString()!;
            Assert.StartsWith("hibp-verify=dweb_", record, StringComparison.Ordinal);
            Assert.Equal(record, (await AskAsync(web, "generatednstoken", key)).Json.GetProperty("txtRecordValue").GetString());

            AssertRefused(404, "No hibp-verify TXT records were found on the domain.", await AskAsync(web, "verifydnstoken", key));
            _dns.Records[Domain] = ["v=spf1 -all", "hibp-verify=dweb_other"];
            AssertRefused(
                404, $"Expected a TXT record of {record} but instead found hibp-verify=dweb_other",
                await AskAsync(web, "verifydnstoken", key));
            _dns.IsDown = true;
            Assert.Equal(503, (await AskAsync(web, "verifydnstoken", key)).Status);
            _dns.IsDown = false;
            Assert.Empty(await _rig.Context.Queues.Get(QueueNames.Commands).PeekAsync(32, None));

            _dns.Records[Domain] = [new string('x', 600), "hibp-verify=dweb_other", record];
            var proven = await AskAsync(web, "verifydnstoken", key);
            Assert.Equal((200, ""), (proven.Status, proven.Text));
            // Another key's owner can't use the record.
            Assert.Equal(404, (await AskAsync(web, "verifydnstoken", other)).Status);
            await _rig.RunToEndAsync();
        }
        // A running server knows keys for some seconds.
        await using var fresh = await _rig.StartWebAsync(dns: _dns.Setting);
        Assert.Contains("\"ann\"", (await fresh.GetAsync($"/api/v3/breacheddomain/{Domain}", key)).Text, StringComparison.Ordinal);
        Assert.Contains(Domain, (await fresh.GetAsync("/api/v3/subscribeddomains", key)).Text, StringComparison.Ordinal);
        Assert.Equal(403, (await fresh.GetAsync($"/api/v3/breacheddomain/{Domain}", other)).Status);
        AssertRefused(400, "Domain has already been verified.", await AskAsync(fresh, "verifydnstoken", key));
    }

    [Theory]
    [InlineData("{\"DomainName\":\"gmail.com\"}", 403, "This domain has no owner")]
    [InlineData("{\"DomainName\":\"no domain\"}", 400, "An invalid domain")]
    [InlineData("{}", 400, "An invalid domain")]
    [InlineData("{\"DomainName\":", 400, "Invalid JSON")]
    public async Task Wrong_request_is_refused_with_the_reason(string body, int status, string message)
    {
        await using var web = await _rig.StartWebAsync(dns: _dns.Setting);
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
        await using var web = await _rig.StartWebAsync(dns: _dns.Setting);
        var verify = ApiKey.HashOf(await web.AddKeyAsync("owner", KeyScopes.Verify));
        var search = ApiKey.HashOf(await web.AddKeyAsync("search"));
        var links = _rig.Context.Links!;
        _dns.Records[Domain] = [links.RecordOf(search, Domain)];
        _dns.Records["gmail.com"] = [links.RecordOf(verify, "gmail.com")];
        foreach (var (key, domain) in ((string, string)[])[(verify, Domain), (search, Domain), (verify, "gmail.com"), ("unknown", Domain)])
            await _rig.HandleAsync(Command(key, domain));
        Assert.All(await _rig.Context.ApiKeys.ListAsync(None), key => Assert.Empty(key.Domains));
    }

    [Fact]
    public async Task Proof_lapses_after_two_failed_checks_a_week_apart()
    {
        await using var web = await _rig.StartWebAsync(dns: _dns.Setting);
        var key = ApiKey.HashOf(await web.AddKeyAsync("owner", KeyScopes.Verify));
        _dns.Records[Domain] = [_rig.Context.Links!.RecordOf(key, Domain)];
        await _rig.HandleAsync(Command(key, Domain));
        await _rig.HandleAsync(Command(key, Domain));
        Assert.Equal([Domain], await DomainsAsync());

        _dns.Records.Clear();
        await CheckAfterAsync(TimeSpan.FromDays(89)); // not due
        _dns.Records[Domain] = [_rig.Context.Links.RecordOf(key, Domain)];
        await CheckAfterAsync(TimeSpan.FromDays(1)); // succeeds
        _dns.Records.Clear();
        await CheckAfterAsync(TimeSpan.FromDays(90)); // fails
        await CheckAfterAsync(TimeSpan.FromDays(6)); // not due
        _dns.IsDown = true;
        await CheckAfterAsync(TimeSpan.FromDays(1)); // proves nothing
        _dns.IsDown = false;
        await CheckProofsAsync();
        Assert.Empty(await DomainsAsync());
        Assert.Empty(await _rig.Context.Database.ListProofsAsync(None));

        async Task CheckAfterAsync(TimeSpan time)
        {
            Clock.Advance(time);
            await CheckProofsAsync();
            Assert.Equal([Domain], await DomainsAsync());
        }

        async Task<IReadOnlyList<string>> DomainsAsync() => (await _rig.Context.ApiKeys.FindAsync(key, None))!.Domains;
    }

    [Fact]
    public async Task Person_proves_a_domain_by_mail_is_notified_and_sees_its_accounts()
    {
        await using var web = await _rig.StartWebAsync(dns: _dns.Setting);
        await _rig.DropAsync("First", $"ann@{Domain}", $"+bob@{Domain}", "ann@example.net");
        await _rig.SubmitAsync(web, "/domains", "domain=%20Contoso.COM&proof=security&email=ignored%40example.com", "Check the mailbox");
        var mail = _rig.Mails().Single();
        Assert.Equal(($"security@{Domain}", $"Confirm the domain {Domain} for breach notifications"), (mail.To, mail.Mail.Subject));
        var link = PeopleRig.LinkIn(mail.Mail, "domains/confirm");

        // Mail scanners follow links.
        Assert.Contains($"<form method=\"post\" action=\"{link}\">", (await web.GetAsync(link)).Text, StringComparison.Ordinal);
        await SignInAsync(web, $"security@{Domain}");
        Assert.Empty(await _rig.SubscribersAsync());
        Assert.Single(_rig.Mails());
        await _rig.SubmitAsync(web, link, "", "The domain is confirmed");
        Assert.Equal([new Subscription($"security@{Domain}", Domain)], await _rig.SubscribersAsync());
        Assert.Equal($"You are notified of breaches with addresses of {Domain}", _rig.LastMail().Subject);
        await _rig.DropAsync("Second", $"eve@{Domain}");
        Assert.Equal($"1 email address of {Domain} in leaked data: Second", _rig.LastMail().Subject);

        // A running server knows the catalogue for some time.
        await using var fresh = await _rig.StartWebAsync(dns: _dns.Setting);
        await SignInAsync(fresh, $"security@{Domain}");
        var open = PeopleRig.LinkIn(_rig.LastMail(), "domains/open");
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
        Clock.Advance(TimeSpan.FromMinutes(30));
        Assert.Equal(400, (await fresh.GetAsync("/domains/accounts", headers: cookie)).Status);
    }

    [Fact]
    public async Task Link_to_sign_in_expires_after_15_minutes_and_is_limited()
    {
        await using var web = await _rig.StartWebAsync(dns: _dns.Setting);
        await _rig.Pipeline.ImportAsync((Contact, Domain), (Contact, null), ("other@example.net", "example.net"));
        await SignInAsync(web, "other@example.net");
        Assert.Empty(_rig.Mails());
        for (var i = 0; i < 6; i++)
            await _rig.HandleAsync(_rig.New(CommandKind.SignIn) with { Email = Contact, Domain = Domain, Network = "CB0071" });
        Assert.Equal(5, _rig.Mails().Count);
        var open = PeopleRig.LinkIn(_rig.LastMail(), "domains/open");
        Clock.Advance(SignIn.ValidFor);
        Assert.Equal(400, (await web.PostFormAsync(open, "")).Status);
        foreach (var wrong in (string[])
        [
            "/domains/open", "/domains/open?t=", open + "0", open[..^1] + "g", "/domains/open?t=" + new string('0', 64),
        ])
            Assert.Equal((wrong, 400), (wrong, (await web.PostFormAsync(wrong, "")).Status));
        await _rig.Context.SignIns.DeleteExpiredAsync(_rig.Pipeline.Time.GetUtcNow(), None);
        Assert.Null(await _rig.Context.SignIns.TakeAsync(open[^SignIn.SecretLength..], None));
    }

    [Theory]
    [InlineData("dns")]
    [InlineData("file")]
    public async Task Person_proves_a_domain_by_what_it_publishes_and_loses_it_without(string proof)
    {
        await using var files = await FileServer.StartAsync();
        _rig.With(_rig.Context with { Records = new DomainRecords(_dns.Setting, files.CreateHandler()) });
        await using var web = await _rig.StartWebAsync(dns: _dns.Setting);
        var form = $"domain={Domain}&proof={proof}&email={Contact}";
        var record = Record().Match(await PeopleRig.PostAsync(web, "/domains", form, "Prove that you own the domain")).Value;
        Assert.Equal(_rig.Context.Links!.RecordOf(Contact, Domain), record);
        // The web server's file is read by the pipeline only.
        var missing = await PeopleRig.PostAsync(
            web, "/domains", $"{form}&published=yes", proof == "dns" ? "Prove that you own the domain" : "The file is being checked");
        Assert.Equal(proof == "dns", missing.Contains("was not found", StringComparison.Ordinal));
        await _rig.RunToEndAsync();
        Assert.Empty(_rig.Mails());

        Publish(record);
        await _rig.SubmitAsync(
            web, "/domains", $"{form}&published=yes", proof == "dns" ? "Check the mailbox" : "The file is being checked");
        Assert.Equal([Contact], _rig.Mails().Select(one => one.To));
        await _rig.SubmitAsync(web, PeopleRig.LinkIn(_rig.LastMail(), "domains/confirm"), "", "The domain is confirmed");
        Assert.Equal([new Subscription(Contact, Domain)], await _rig.SubscribersAsync());

        Clock.Advance(TimeSpan.FromDays(90));
        await CheckAsync(2); // succeeds
        Publish("hibp-verify=dweb_other");
        Clock.Advance(TimeSpan.FromDays(89));
        await CheckAsync(2); // not due
        Clock.Advance(TimeSpan.FromDays(1));
        await CheckAsync(3);
        Assert.Equal($"The proof of {Domain} is missing", _rig.LastMail().Subject);
        Clock.Advance(TimeSpan.FromDays(7));
        Assert.Single(await _rig.SubscribersAsync());
        await CheckAsync(4);
        Assert.Equal((Contact, $"The proof of {Domain} has ended"), (_rig.Mails()[^1].To, _rig.LastMail().Subject));
        Assert.Empty(await _rig.SubscribersAsync());
        Assert.Empty(await _rig.Context.Database.ListProofsAsync(None));
        await SignInAsync(web, Contact);
        await CheckAsync(4);

        void Publish(string line)
        {
            if (proof == "dns")
                _dns.Records[Domain] = [line];
            else
                files.Content = $"{line}\r\n";
        }

        async Task CheckAsync(int mails)
        {
            await CheckProofsAsync();
            Assert.Equal(mails, _rig.Mails().Count);
        }
    }

    [Fact]
    public async Task Key_gets_a_domain_by_mail_for_a_year()
    {
        string text;
        await using (var web = await _rig.StartWebAsync(dns: _dns.Setting))
        {
            text = await web.AddKeyAsync("owner", KeyScopes.Verify);
            foreach (var (body, message) in ((string, string)[])
            [
                ($$"""{"DomainName":"{{Domain}}"}""", "No emailAlias field was passed in the request body."),
                ($$"""{"DomainName":"{{Domain}}","EmailAlias":"dns"}""",
                    "The emailAlias is expected to be one of: security, hostmaster, postmaster, webmaster"),
            ])
                AssertRefused(400, message, await AskAsync(web, "sendemail", text, body));
            var sent = await AskAsync(web, "sendemail", text, $$"""{"DomainName":"{{Domain}}","EmailAlias":"webmaster"}""");
            Assert.Equal((200, ""), (sent.Status, sent.Text));
            await _rig.RunToEndAsync();
            Assert.Equal([$"webmaster@{Domain}"], _rig.Mails().Select(one => one.To));
            Assert.Equal($"Let the API key owner see the addresses of {Domain}?", _rig.LastMail().Subject);
            // The limit of the mailbox is not used up by it, but a second mail for a key exceeds its own.
            await AskAsync(web, "sendemail", text, $$"""{"DomainName":"{{Domain}}","EmailAlias":"webmaster"}""");
            await _rig.RunToEndAsync();
            Assert.Single(_rig.Mails());
            await _rig.SubmitAsync(web, "/domains", $"domain={Domain}&proof=webmaster", "Check the mailbox");
            Assert.Equal(2, _rig.Mails().Count);
            await _rig.SubmitAsync(web, PeopleRig.LinkIn(_rig.Mails()[0].Mail, "domains/confirm"), "", "The domain is confirmed");
        }
        var key = ApiKey.HashOf(text);
        Assert.Equal([Domain], await DomainsAsync());
        Assert.Empty(await _rig.SubscribersAsync());
        Clock.Advance(TimeSpan.FromDays(365) - TimeSpan.FromSeconds(1));
        await CheckProofsAsync();
        Assert.Equal([Domain], await DomainsAsync());
        Clock.Advance(TimeSpan.FromSeconds(1));
        await CheckProofsAsync();
        Assert.Empty(await DomainsAsync());
        Assert.Equal(($"webmaster@{Domain}", $"The proof of {Domain} has ended"), (_rig.Mails()[^1].To, _rig.LastMail().Subject));

        async Task<IReadOnlyList<string>> DomainsAsync() => (await _rig.Context.ApiKeys.FindAsync(key, None))!.Domains;
    }

    [Fact]
    public async Task Renewal_that_nobody_confirmed_keeps_no_domain_from_its_check()
    {
        await AddProofAsync(ProofKind.Dns);
        var wanted = new SubscriptionRequest(Contact, Domain, ProofKind.Dns);
        Clock.Advance(TimeSpan.FromDays(90));
        await _rig.Context.Database.RequestSubscriptionAsync(Guid.NewGuid(), wanted, [], TimeSpan.FromDays(7), None);
        await CheckProofsAsync();
        Assert.NotNull(Assert.Single(await _rig.Context.Database.ListProofsAsync(None)).FailedAt);
    }

    [Fact]
    public async Task Key_that_may_no_longer_add_domains_gets_none_by_a_link()
    {
        var key = new ApiKey { Hash = new string('a', 64), Name = "owner", Rpm = 10, Scopes = KeyScopes.Verify };
        await _rig.Context.ApiKeys.CreateAsync(None);
        await _rig.Context.ApiKeys.AddAsync(key, None);
        await _rig.HandleAsync(_rig.New(CommandKind.RequestDomain) with { Domain = Domain, Proof = ProofKind.Security, Key = key.Hash });
        var link = PeopleRig.LinkIn(_rig.LastMail(), "domains/confirm");
        await _rig.Context.ApiKeys.RemoveAsync(key.Hash, None);
        await _rig.Context.ApiKeys.AddAsync(key with { Scopes = KeyScopes.Search }, None);
        await _rig.HandleAsync(_rig.Follow(CommandKind.ConfirmDomain, link));
        Assert.Empty((await _rig.Context.ApiKeys.FindAsync(key.Hash, None))!.Domains);
        Assert.Empty(await _rig.Context.Database.ListProofsAsync(None));
    }

    [Fact]
    public async Task Checks_that_anybody_causes_are_limited_and_not_repeated()
    {
        var wanted = _rig.New(CommandKind.RequestDomain) with
        {
            Domain = Domain,
            Proof = ProofKind.Dns,
            Email = Contact,
            Network = "CB0071",
        };
        _dns.IsDown = true;
        await _rig.HandleAsync(wanted); // not deferred
        _dns.IsDown = false;
        _dns.Records[Domain] = [_rig.Context.Links!.RecordOf(Contact, Domain)];
        for (var i = 1; i < 20; i++)
            await _rig.HandleAsync(wanted with { Id = Guid.NewGuid(), Email = "other@example.com" });
        await _rig.HandleAsync(wanted with { Id = Guid.NewGuid() });
        Assert.Empty(_rig.Mails());
        await _rig.HandleAsync(wanted with { Id = Guid.NewGuid(), Network = "CB0072" });
        Assert.Single(_rig.Mails());
    }

    [Fact]
    public async Task Address_that_ended_the_mails_of_a_domain_is_asked_once_in_30_days()
    {
        await AddProofAsync(ProofKind.Security);
        await _rig.Context.Get<SubscriberOperations>().RemoveAsync([Contact], [Domain], SuppressionReason.Unsubscribed, None);
        _dns.Records[Domain] = [_rig.Context.Links!.RecordOf(Contact, Domain)];
        for (var i = 0; i < 3; i++)
        {
            await _rig.HandleAsync(_rig.New(CommandKind.RequestDomain) with { Domain = Domain, Proof = ProofKind.Dns, Email = Contact });
            Clock.Advance(TimeSpan.FromDays(1));
        }
        Assert.Single(_rig.Mails());
    }

    [Fact]
    public async Task Mailbox_of_a_number_proves_nothing()
    {
        var command = _rig.New(CommandKind.RequestDomain) with { Domain = Domain, Proof = (ProofKind)20231234 };
        Assert.NotNull(await _rig.Context.Get<ProvenDomains>().FindRefusalAsync(command, None));
        // Neither does a sealed command carry one.
        await Assert.ThrowsAsync<JsonException>(() => _rig.HandleAsync(command));
        Assert.Empty(_rig.Mails());
    }

    [Theory]
    [InlineData(ProofKind.Webmaster, 365)]
    [InlineData(ProofKind.Dns, 90)]
    public async Task Mail_server_that_is_down_delays_a_lapse_or_first_failure_by_three_days_at_most(ProofKind kind, int days)
    {
        await AddProofAsync(kind);
        await using var down = NotificationSenders.Create("smtp://127.0.0.1:1");
        _rig.With(_rig.Context with { Sender = down });
        Clock.Advance(TimeSpan.FromDays(days + 3) - TimeSpan.FromSeconds(1));
        await CheckProofsAsync();
        Assert.Null(Assert.Single(await _rig.Context.Database.ListProofsAsync(None)).FailedAt);
        Assert.Single(await _rig.SubscribersAsync());
        Clock.Advance(TimeSpan.FromSeconds(1));
        await CheckProofsAsync();
        if (kind == ProofKind.Webmaster)
            Assert.Empty(await _rig.SubscribersAsync());
        else
            Assert.NotNull(Assert.Single(await _rig.Context.Database.ListProofsAsync(None)).FailedAt);
    }

    [Theory]
    [InlineData("domain=no+domain&proof=dns", "That is not a domain")]
    [InlineData("proof=dns", "That is not a domain")]
    [InlineData("domain=gmail.com&proof=security", "Nobody can prove this domain")]
    [InlineData($"domain={Domain}", "Choose how")]
    [InlineData($"domain={Domain}&proof=magic", "Choose how")]
    [InlineData($"domain={Domain}&proof=dns", "Enter your email address")]
    [InlineData($"domain={Domain}&proof=file&email=nobody", "Enter your email address")]
    public async Task Wrong_form_is_refused_with_the_reason(string form, string expected)
    {
        await using var web = await _rig.StartWebAsync(dns: _dns.Setting);
        var refused = await web.PostFormAsync("/domains", form);
        Assert.Equal(400, refused.Status);
        Assert.Contains(expected, refused.Text, StringComparison.Ordinal);
        Assert.Equal(400, (await web.PostFormAsync("/domains/signin", form.Replace(Domain, "", StringComparison.Ordinal))).Status);
        Assert.Empty(await _rig.Context.Queues.Get(QueueNames.Commands).PeekAsync(32, None));
    }

    [Fact]
    public async Task Domain_that_is_not_proven_causes_no_mail_even_if_the_web_app_forwards_it()
    {
        var other = _rig.Context.Links!.RecordOf("other@example.net", Domain);
        _dns.Records[Domain] = [other];
        _dns.Records["gmail.com"] = [_rig.Context.Links.RecordOf(Contact, "gmail.com")];
        var wanted = _rig.New(CommandKind.RequestDomain) with { Email = Contact, Domain = Domain, Proof = ProofKind.Dns };
        foreach (var command in (PersonCommand[])
        [
            wanted, wanted with { Proof = null }, wanted with { Domain = "gmail.com" }, wanted with { Email = null },
            wanted with { Key = new string('a', 64), Proof = ProofKind.Security },
            wanted with { Domain = "gmail.com", Proof = ProofKind.Security }, wanted with { Kind = CommandKind.SignIn },
        ])
        {
            await _rig.HandleAsync(command with { Id = Guid.NewGuid() });
        }
        Assert.Empty(_rig.Mails());
        // A link for another purpose confirms nothing.
        await _rig.HandleAsync(_rig.Subscribe(Contact));
        await _rig.HandleAsync(_rig.Follow(CommandKind.ConfirmDomain, PeopleRig.LinkIn(_rig.LastMail(), "verify")));
        Assert.Empty(await _rig.SubscribersAsync());
    }

    private static void AssertRefused(int status, string message, WebReply reply) =>
        Assert.Equal((status, message), (reply.Status, reply.Json.GetProperty("message").GetString()));

    private Task CheckProofsAsync() => _rig.Context.Get<ProvenDomains>().CheckAsync(None);

    /// <summary>Subscribes the contact to the domain, which is proven.</summary>
    private async Task AddProofAsync(ProofKind kind)
    {
        await _rig.Pipeline.ImportAsync((Contact, Domain));
        var due = (await _rig.Context.Database.RequestSignInAsync(Guid.NewGuid(), Contact, Domain, [], None)).Due!;
        await _rig.Context.Database.PutProofAsync(new DomainProof(DomainProof.HolderOf(due.Subscription), Domain, kind), None);
    }

    private Task SignInAsync(WebRig web, string email) =>
        _rig.SubmitAsync(web, "/domains/signin", $"domain={Domain}&email={email}", "Check your mail");

    [GeneratedRegex("hibp-verify=dweb_[0-9a-f]{32}", RegexOptions.None, 60_000)]
    private static partial Regex Record();

    private PersonCommand Command(string key, string domain) =>
        _rig.New(CommandKind.VerifyDomain) with { Key = key, Domain = domain };

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
        private readonly X509Certificate2 _certificate = SmtpTestServer.CreateCertificate(Domain);
        private LocalServer _server = null!;

        /// <summary>Null: there is no file.</summary>
        public string? Content { get; set; }

        public static async Task<FileServer> StartAsync()
        {
            var files = new FileServer();
            files._server = await LocalServer.StartAsync(files.AnswerAsync, files._certificate);
            return files;
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

        private Task AnswerAsync(HttpContext context)
        {
            if (Content is not null && context.Request.Path == "/.well-known/hibp-verify.txt" && context.Request.Host.Host == Domain)
                return context.Response.WriteAsync(Content);
            context.Response.StatusCode = StatusCodes.Status404NotFound;
            return Task.CompletedTask;
        }

        private async Task<Stream> ConnectAsync(IPAddress[] addresses, int port, CancellationToken cancellationToken)
        {
            Assert.Equal(443, port);
            var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
            await socket.ConnectAsync(IPAddress.Loopback, new Uri(_server.Address).Port, cancellationToken);
            return new NetworkStream(socket, ownsSocket: true);
        }
    }
}
