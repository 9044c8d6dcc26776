using HibpIngest.People;
using HibpIngest.Pipeline.People;

namespace HibpIngest.Integration.Tests.People;

/// <summary>Tests subscriptions as people and their mail programs use them: over HTTP, with the mails of a real SMTP server.</summary>
public sealed class SubscriptionTests : IAsyncLifetime
{
    private const string Email = "ann@example.com";
    private const string Form = "application/x-www-form-urlencoded";
    private static readonly LinkTokens OtherKey = LinkTokens.Parse(Convert.ToBase64String([.. Enumerable.Repeat((byte)1, 32)]))!;

    private PeopleRig _rig = null!;

    private TestClock Clock => (TestClock)_rig.Pipeline.Time;

    public async Task InitializeAsync() => _rig = await PeopleRig.StartAsync(TestClock.Standing());

    public async Task DisposeAsync() => await _rig.DisposeAsync();

    [Fact]
    public async Task Person_subscribes_verifies_is_notified_and_unsubscribes_in_one_click()
    {
        await using var web = await _rig.StartWebAsync();
        await _rig.Pipeline.DropAsync(
            "Known.zip", PipelineRig.Zip(("list.txt", Email)),
            """{"Title":"Known Games","BreachDate":"2013-10-04","DataClasses":["Passwords"],"IsSensitive":true}""");
        await _rig.RunToEndAsync();

        await _rig.SubmitAsync(web, "/subscribe", $"email={WebUtility.UrlEncode($" {Email.ToUpperInvariant()} ")}", "Check your mail");
        var verification = _rig.LastMail();
        Assert.Equal([Email], _rig.Mails().Select(one => one.To));
        Assert.Equal("Confirm your address for breach notifications", verification.Subject);
        var link = PeopleRig.LinkIn(verification, "verify");

        // Mail scanners follow links.
        var page = await web.GetAsync(link);
        Assert.Equal(200, page.Status);
        Assert.Contains($"<form method=\"post\" action=\"{link}\">", page.Text, StringComparison.Ordinal);
        await _rig.RunToEndAsync();
        Assert.Empty(await _rig.SubscribersAsync());

        await _rig.SubmitAsync(web, link, "", "Your address is confirmed");
        Assert.Equal([new Subscription(Email, null)], await _rig.SubscribersAsync());
        var welcome = _rig.LastMail();
        Assert.Equal("You are subscribed: your address is in 1 breach", welcome.Subject);
        Assert.Contains("Known Games (4 October 2013): Passwords; sensitive", welcome.TextBody, StringComparison.Ordinal);
        await _rig.SubmitAsync(web, link, "", "Your address is confirmed");
        Assert.Equal(2, _rig.Mails().Count);

        await _rig.DropAsync("First", Email);
        Assert.Equal("Your email address is in leaked data: First", _rig.LastMail().Subject);
        var unsubscribe = PeopleRig.UnsubscribeIn(_rig.LastMail());
        Assert.All(_rig.Mails(), one => Assert.Equal(unsubscribe, PeopleRig.UnsubscribeIn(one.Mail)));
        Assert.Equal(unsubscribe, PeopleRig.LinkIn(_rig.LastMail(), "unsubscribe"));
        Assert.Equal(200, (await web.GetAsync(unsubscribe)).Status);
        await _rig.RunToEndAsync();
        Assert.Single(await _rig.SubscribersAsync());

        // As RFC 8058 has it: a POST with this body, no cookie, and no redirect in response.
        await PeopleRig.PostAsync(web, unsubscribe, "List-Unsubscribe=One-Click", "You are unsubscribed");
        await _rig.SubmitAsync(web, unsubscribe, "List-Unsubscribe=One-Click", "You are unsubscribed");
        Assert.Empty(await _rig.SubscribersAsync());
        await _rig.DropAsync("Second", Email);
        Assert.Equal(3, _rig.Mails().Count);
        // No import brings the address back, and an old link to verify doesn't, either.
        Assert.Equal(
            new SubscribersImported(0, 1),
            await _rig.Context.Database.ImportSubscribersAsync([new(Email, null)], _rig.Context.SuppressionKey, None));
        await _rig.SubmitAsync(web, link, "", "Your address is confirmed");
        Assert.Empty(await _rig.SubscribersAsync());
    }

    [Fact]
    public async Task Every_address_gets_the_same_response_and_no_message_contains_one()
    {
        await using var web = await _rig.StartWebAsync();
        await _rig.Pipeline.ImportAsync((Email, null));
        var expected = await PeopleRig.PostAsync(web, "/subscribe", $"email={Email}", "Check your mail");
        foreach (var other in (string[])["nobody@example.org", "x@example.net"])
            Assert.Equal(expected, await PeopleRig.PostAsync(web, "/subscribe", $"email={other}", "Check your mail"));
        var json = await SendAsync(web, "/subscribe", $$"""{"email":"{{Email}}"}""", "application/json");
        Assert.Equal((200, "application/json; charset=utf-8"), (json.Status, json.Header("Content-Type")));
        Assert.Contains("a link to confirm it arrives", json.Json.GetProperty("message").GetString(), StringComparison.Ordinal);

        var messages = await _rig.Context.Queues.Get(QueueNames.Commands).PeekAsync(32, None);
        Assert.Equal(4, messages.Count);
        Assert.Single(messages.Select(one => one.Body.Length).Distinct());
        Assert.All(messages, one => Assert.DoesNotContain("example", one.Body, StringComparison.OrdinalIgnoreCase));
    }

    [Theory]
    [InlineData("email=no+address", Form)]
    [InlineData("", Form)]
    [InlineData("{\"email\":\"no address\"}", "application/json")]
    [InlineData("{\"email\":", "application/json")]
    [InlineData("[]", "application/json")]
    public async Task Text_that_is_no_address_is_refused(string body, string type)
    {
        await using var web = await _rig.StartWebAsync();
        var reply = await SendAsync(web, "/subscribe", body, type);
        Assert.Equal(400, reply.Status);
        if (type == Form)
            Assert.Contains("role=\"alert\"", reply.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Form_is_read_whatever_its_type_and_refused_above_its_limit()
    {
        await using var web = await _rig.StartWebAsync();
        const string Body = "email=a%40example.com&x=";
        Assert.Equal(200, (await SendAsync(web, "/subscribe", Body, "text/plain")).Status);
        Assert.Equal(400, (await SendAsync(web, "/subscribe", Body + new string('x', 5_000), Form)).Status);
    }

    [Fact]
    public async Task Link_works_for_its_purpose_and_person_only()
    {
        await using var web = await _rig.StartWebAsync();
        await _rig.HandleAsync(_rig.Subscribe(Email));
        var mail = _rig.LastMail();
        var (verify, unsubscribe) = (PeopleRig.LinkIn(mail, "verify"), PeopleRig.UnsubscribeIn(mail));
        string[] wrong =
        [
            "/verify", "/verify?t=", verify.Replace("verify", "unsubscribe", StringComparison.Ordinal), verify + "A", verify + "&t=A",
            unsubscribe.Replace("unsubscribe", "verify", StringComparison.Ordinal), verify[..^1], verify[..^5] + "AAAAA",
            $"/verify?t={OtherKey.Create(LinkPurpose.Verify, Guid.NewGuid())}",
        ];
        foreach (var link in wrong)
        {
            Assert.Equal((link, 400), (link, (await web.GetAsync(link)).Status));
            Assert.Equal((link, 400), (link, (await SendAsync(web, link, "", Form)).Status));
        }
        Assert.Empty(await _rig.Context.Queues.Get(QueueNames.Commands).PeekAsync(32, None));

        // A web app that was taken over can't do more, because the pipeline checks tokens itself.
        foreach (var link in wrong.Where(link => link.Contains("?t=", StringComparison.Ordinal)))
        {
            await _rig.HandleAsync(_rig.Follow(
                link.StartsWith("/verify", StringComparison.Ordinal) ? CommandKind.Verify : CommandKind.Unsubscribe, link));
        }
        Clock.Advance(RequestMails.RequestsLast + TimeSpan.FromSeconds(1));
        Assert.Equal(400, (await web.GetAsync(verify)).Status);
        await _rig.HandleAsync(_rig.Follow(CommandKind.Verify, verify));
        await _rig.HandleAsync(_rig.Follow(CommandKind.Verify, verify) with { At = Clock.GetUtcNow() - TimeSpan.FromDays(1) });
        Assert.Empty(await _rig.SubscribersAsync());
        Assert.Single(_rig.Mails());
    }

    [Fact]
    public async Task Only_a_verified_click_lifts_a_suppression()
    {
        await _rig.Pipeline.ImportAsync((Email, null));
        await _rig.DropAsync("First", Email);
        await _rig.HandleAsync(_rig.Follow(CommandKind.Unsubscribe, PeopleRig.UnsubscribeIn(_rig.LastMail())));

        await _rig.HandleAsync(_rig.Subscribe(Email));
        Assert.Equal(2, _rig.Mails().Count);
        Clock.Advance(TimeSpan.FromDays(29));
        await _rig.HandleAsync(_rig.Subscribe(Email, "other"));
        Assert.Equal(2, _rig.Mails().Count);
        Clock.Advance(TimeSpan.FromDays(1));
        await _rig.HandleAsync(_rig.Subscribe(Email));
        Assert.Equal(3, _rig.Mails().Count);
        Assert.Single(await _rig.Context.Database.ListSuppressionsAsync(None));

        await _rig.HandleAsync(_rig.Follow(CommandKind.Verify, PeopleRig.LinkIn(_rig.LastMail(), "verify")));
        Assert.Empty(await _rig.Context.Database.ListSuppressionsAsync(None));
        Assert.Empty(await _rig.Context.Register.ListSuppressionsAsync(None));
        Assert.Equal([new Subscription(Email, null)], await _rig.SubscribersAsync());
    }

    [Fact]
    public async Task Unsubscribing_before_verifying_suppresses_the_address()
    {
        await _rig.HandleAsync(_rig.Subscribe(Email));
        var mail = _rig.LastMail();
        await _rig.HandleAsync(_rig.Follow(CommandKind.Unsubscribe, PeopleRig.UnsubscribeIn(mail)));
        await _rig.HandleAsync(_rig.Follow(CommandKind.Verify, PeopleRig.LinkIn(mail, "verify")));
        Assert.Empty(await _rig.SubscribersAsync());
        Assert.Equal(SuppressionReason.Unsubscribed, Assert.Single(await _rig.Context.Database.ListSuppressionsAsync(None)).Reason);
    }

    [Fact]
    public async Task Subscriber_of_a_domain_unsubscribes_from_that_domain_only()
    {
        await _rig.Pipeline.ImportAsync((Email, "example.com"), (Email, "example.org"));
        await _rig.DropAsync("First", Email);
        await _rig.HandleAsync(_rig.Follow(CommandKind.Unsubscribe, PeopleRig.UnsubscribeIn(_rig.LastMail())));
        Assert.Equal([new Subscription(Email, "example.org")], await _rig.SubscribersAsync());
    }

    [Fact]
    public async Task Mail_that_could_not_be_sent_is_sent_once_by_a_redelivery()
    {
        var isDown = true;
        _rig.Smtp.Script = step => isDown && step.Name == "RCPT" ? SmtpAnswer.Say("451 4.3.0 later") : null;
        var subscribe = _rig.Subscribe(Email);
        await Assert.ThrowsAsync<RecipientDeferredException>(() => _rig.HandleAsync(subscribe));
        isDown = false;
        await _rig.HandleAsync(subscribe);
        await _rig.HandleAsync(subscribe);
        var verify = _rig.Follow(CommandKind.Verify, PeopleRig.LinkIn(Assert.Single(_rig.Mails()).Mail, "verify"));
        isDown = true;
        await Assert.ThrowsAsync<RecipientDeferredException>(() => _rig.HandleAsync(verify));
        isDown = false;
        await _rig.HandleAsync(verify);
        await _rig.HandleAsync(verify);
        Assert.Equal(
            ["Confirm your address for breach notifications", "You are subscribed to breach notifications"],
            _rig.Mails().Select(one => one.Mail.Subject));
        Assert.Single(await _rig.SubscribersAsync());
    }

    [Fact]
    public async Task Refused_mail_is_given_up()
    {
        _rig.Smtp.Script = step => step.Name == "RCPT" ? SmtpAnswer.Say("550 5.1.1 unknown") : null;
        var subscribe = _rig.Subscribe(Email);
        await _rig.HandleAsync(subscribe);
        _rig.Smtp.Script = null;
        await _rig.HandleAsync(subscribe);
        Assert.Empty(_rig.Mails());
    }

    [Fact]
    public async Task Address_is_suppressed_after_two_refusals_as_unknown_until_its_owner_verifies_it()
    {
        await _rig.Pipeline.ImportAsync((Email, null), ("bob@example.com", null));
        _rig.Smtp.Script = step => step.Name == "RCPT" && step.Line.Contains(Email, StringComparison.Ordinal)
            ? SmtpAnswer.Say("550 5.1.1 unknown") : null;
        foreach (var name in (string[])["First", "Second"])
        {
            Assert.Empty(await _rig.Context.Database.ListSuppressionsAsync(None));
            await _rig.DropAsync(name, Email);
        }
        Assert.Equal(
            [(_rig.Context.SuppressionKey!.HashOf(Email), SuppressionReason.Bounced)],
            (await _rig.Context.Database.ListSuppressionsAsync(None)).Select(one => (one.Hash, one.Reason)));
        Assert.Equal([new Subscription("bob@example.com", null)], await _rig.SubscribersAsync());
        Assert.All(await _rig.Pipeline.LoadsAsync(), load => Assert.Equal(LoadState.Done, load.State));

        _rig.Smtp.Script = null;
        await _rig.DropAsync("Third", Email);
        Assert.Empty(_rig.Mails());
        await _rig.HandleAsync(_rig.Subscribe(Email));
        await _rig.HandleAsync(_rig.Follow(CommandKind.Verify, PeopleRig.LinkIn(_rig.LastMail(), "verify")));
        Assert.Empty(await _rig.Context.Database.ListSuppressionsAsync(None));
        await _rig.DropAsync("Fourth", Email);
        Assert.Equal("Your email address is in leaked data: Fourth", _rig.LastMail().Subject);
    }

    [Fact]
    public async Task Flood_sends_no_more_mails_than_the_limits_allow()
    {
        // As many from one network as fit a short test; the benchmark "subscribe" sends 100,000.
        for (var i = 0; i < 60; i++)
            await _rig.HandleAsync(_rig.Subscribe($"user{i}@domain{i}.com"));
        Assert.Equal(20, _rig.Mails().Count);
        for (var i = 0; i < 100; i++)
            await _rig.HandleAsync(_rig.Subscribe($"victim{i % 10}@example.com", $"network {i}"));
        Assert.Equal(30, _rig.Mails().Count);
        Clock.Advance(TimeSpan.FromHours(1));
        _rig.Pipeline.Options.Mail.VerifyPerHour = 5;
        for (var i = 0; i < 5; i++)
            await _rig.HandleAsync(_rig.Subscribe($"later{i}@example.com", $"network {i}"));
        var waits = _rig.Subscribe("last@example.com", "network 9");
        var alert = await Assert.ThrowsAsync<UnavailableException>(() => _rig.HandleAsync(waits));
        Assert.Contains("HIBP_VERIFYPERHOUR", alert.Message, StringComparison.Ordinal);
        Clock.Advance(TimeSpan.FromHours(1));
        await _rig.HandleAsync(waits);
        Assert.Equal(36, _rig.Mails().Count);
    }

    [Fact]
    public async Task Web_refuses_the_eleventh_request_of_a_network_within_a_minute()
    {
        await using var web = await _rig.StartWebAsync(proxies: 1);
        for (var i = 0; i < 10; i++)
            await PeopleRig.PostAsync(web, "/subscribe", $"email={Email}", "Check your mail", ("X-Forwarded-For", "203.0.113.7"));
        var refused = await SendAsync(web, "/subscribe", $"email={Email}", Form, ("X-Forwarded-For", "203.0.113.99"));
        Assert.Equal(429, refused.Status);
        Assert.Contains("Wait a minute", refused.Text, StringComparison.Ordinal);
        Assert.InRange(int.Parse(refused.Header("Retry-After"), System.Globalization.CultureInfo.InvariantCulture), 1, 60);
        var json = await SendAsync(web, "/subscribe", "{}", "application/json", ("X-Forwarded-For", "203.0.113.99"));
        Assert.Equal(429, json.Json.GetProperty("statusCode").GetInt32());
        await PeopleRig.PostAsync(web, "/subscribe", $"email={Email}", "Check your mail", ("X-Forwarded-For", "203.0.114.7"));
    }

    [Fact]
    public async Task Store_that_is_down_is_reported_on_a_page()
    {
        await using var web = await _rig.StartWebAsync();
        await new Azure.Storage.Queues.QueueClient(_rig.Pipeline.Connection, QueueNames.Commands).DeleteAsync();
        var reply = await SendAsync(web, "/subscribe", $"email={Email}", Form);
        Assert.Equal(503, reply.Status);
        Assert.Contains("nothing was changed", reply.Text, StringComparison.Ordinal);
        Assert.Equal(503, (await SendAsync(web, "/subscribe", $$"""{"email":"{{Email}}"}""", "application/json")).Status);
    }

    private static async Task<WebReply> SendAsync(
        WebRig web, string path, string body, string type, params (string Name, string Value)[] headers)
    {
        using var content = new StringContent(body, Encoding.UTF8, type);
        return await web.PostAsync(path, content, headers);
    }
}
