using System.Net;
using HibpIngest.Messages;
using HibpIngest.People;
using HibpIngest.Pipeline.People;

namespace HibpIngest.Integration.Tests.People;

/// <summary>Tests subscriptions as people and their mail programs use them: over HTTP, with the mails of a real SMTP server.</summary>
public sealed class SubscriptionTests
{
    private const string Email = "ann@example.com";
    private const string Form = "application/x-www-form-urlencoded";
    private static readonly LinkTokens OtherKey = LinkTokens.Parse(Convert.ToBase64String([.. Enumerable.Repeat((byte)1, 32)]))!;
    private static readonly CancellationToken None = CancellationToken.None;

    [Fact]
    public async Task Person_subscribes_verifies_is_notified_and_unsubscribes_in_one_click()
    {
        await using var rig = await PeopleRig.StartAsync();
        await using var web = await rig.StartWebAsync();
        await rig.Pipeline.DropAsync(
            "Known.zip", PipelineRig.Zip(("list.txt", Email)),
            """{"Title":"Known Games","BreachDate":"2013-10-04","DataClasses":["Passwords"],"IsSensitive":true}""");
        await rig.RunToEndAsync();

        await PostAsync(web, "/subscribe", $"email={WebUtility.UrlEncode($" {Email.ToUpperInvariant()} ")}", "Check your mail");
        await rig.RunToEndAsync();
        var verification = rig.LastMail();
        Assert.Equal([Email], rig.Mails().Select(one => one.To));
        Assert.Equal("Confirm your address for breach notifications", verification.Subject);
        var link = PeopleRig.LinkIn(verification, "verify");

        // Mail scanners follow links.
        var page = await web.GetAsync(link);
        Assert.Equal(200, page.Status);
        Assert.Contains($"<form method=\"post\" action=\"{link}\">", page.Text, StringComparison.Ordinal);
        await rig.RunToEndAsync();
        Assert.Empty(await rig.Context.Database.ListSubscribersAsync(None).ToListAsync(None));

        await PostAsync(web, link, "", "Your address is confirmed");
        await rig.RunToEndAsync();
        Assert.Equal([new Subscription(Email, null)], await rig.Context.Database.ListSubscribersAsync(None).ToListAsync(None));
        var welcome = rig.LastMail();
        Assert.Equal("You are subscribed: your address is in 1 breach", welcome.Subject);
        Assert.Contains("Known Games (4 October 2013): Passwords; sensitive", welcome.TextBody, StringComparison.Ordinal);
        await PostAsync(web, link, "", "Your address is confirmed");
        await rig.RunToEndAsync();
        Assert.Equal(2, rig.Mails().Count);

        await DropAsync(rig, "First");
        Assert.Equal("Your email address is in leaked data: First", rig.LastMail().Subject);
        var unsubscribe = PeopleRig.UnsubscribeIn(rig.LastMail());
        Assert.All(rig.Mails(), one => Assert.Equal(unsubscribe, PeopleRig.UnsubscribeIn(one.Mail)));
        Assert.Equal(unsubscribe, PeopleRig.LinkIn(rig.LastMail(), "unsubscribe"));
        Assert.Equal(200, (await web.GetAsync(unsubscribe)).Status);
        await rig.RunToEndAsync();
        Assert.Single(await rig.Context.Database.ListSubscribersAsync(None).ToListAsync(None));

        // As RFC 8058 has it: a POST with this body, no cookie, and no redirect in response.
        await PostAsync(web, unsubscribe, "List-Unsubscribe=One-Click", "You are unsubscribed");
        await PostAsync(web, unsubscribe, "List-Unsubscribe=One-Click", "You are unsubscribed");
        await rig.RunToEndAsync();
        Assert.Empty(await rig.Context.Database.ListSubscribersAsync(None).ToListAsync(None));
        await DropAsync(rig, "Second");
        Assert.Equal(3, rig.Mails().Count);
        // No import brings the address back, and an old link to verify doesn't, either.
        Assert.Equal(
            new SubscribersImported(0, 1),
            await rig.Context.Database.ImportSubscribersAsync([new(Email, null)], rig.Context.SuppressionKey, None));
        await PostAsync(web, link, "", "Your address is confirmed");
        await rig.RunToEndAsync();
        Assert.Empty(await rig.Context.Database.ListSubscribersAsync(None).ToListAsync(None));
    }

    [Fact]
    public async Task Every_address_gets_the_same_response_and_no_message_contains_one()
    {
        await using var rig = await PeopleRig.StartAsync();
        await using var web = await rig.StartWebAsync();
        await rig.Pipeline.ImportAsync((Email, null));
        var expected = await PostAsync(web, "/subscribe", $"email={Email}", "Check your mail");
        foreach (var other in (string[])["nobody@example.org", "x@example.net"])
            Assert.Equal(expected, await PostAsync(web, "/subscribe", $"email={other}", "Check your mail"));
        var json = await SendAsync(web, "/subscribe", $$"""{"email":"{{Email}}"}""", "application/json");
        Assert.Equal((200, "application/json; charset=utf-8"), (json.Status, json.Header("Content-Type")));
        Assert.Contains("a link to confirm it arrives", json.Json.GetProperty("message").GetString(), StringComparison.Ordinal);

        var messages = await rig.Context.Queues.Get(QueueNames.Commands).PeekAsync(32, None);
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
        await using var rig = await PeopleRig.StartAsync();
        await using var web = await rig.StartWebAsync();
        var reply = await SendAsync(web, "/subscribe", body, type);
        Assert.Equal(400, reply.Status);
        if (type == Form)
            Assert.Contains("role=\"alert\"", reply.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Form_is_read_whatever_its_type_and_refused_above_its_limit()
    {
        await using var rig = await PeopleRig.StartAsync();
        await using var web = await rig.StartWebAsync();
        const string Body = "email=a%40example.com&x=";
        Assert.Equal(200, (await SendAsync(web, "/subscribe", Body, "text/plain")).Status);
        Assert.Equal(400, (await SendAsync(web, "/subscribe", Body + new string('x', 5_000), Form)).Status);
    }

    [Fact]
    public async Task Link_works_for_its_purpose_and_person_only()
    {
        await using var rig = await PeopleRig.StartAsync(TestClock.Standing());
        await using var web = await rig.StartWebAsync();
        await rig.HandleAsync(rig.Subscribe(Email));
        var (mail, clock) = (rig.LastMail(), (TestClock)rig.Pipeline.Time);
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
        Assert.Empty(await rig.Context.Queues.Get(QueueNames.Commands).PeekAsync(32, None));

        // A web app that was taken over can't do more, because the pipeline checks tokens itself.
        foreach (var link in wrong.Where(link => link.Contains("?t=", StringComparison.Ordinal)))
        {
            await rig.HandleAsync(rig.Follow(
                link.StartsWith("/verify", StringComparison.Ordinal) ? CommandKind.Verify : CommandKind.Unsubscribe, link));
        }
        clock.Advance(RequestMails.RequestsLast + TimeSpan.FromSeconds(1));
        Assert.Equal(400, (await web.GetAsync(verify)).Status);
        await rig.HandleAsync(rig.Follow(CommandKind.Verify, verify));
        await rig.HandleAsync(rig.Follow(CommandKind.Verify, verify) with { At = clock.GetUtcNow() - TimeSpan.FromDays(1) });
        Assert.Empty(await rig.Context.Database.ListSubscribersAsync(None).ToListAsync(None));
        Assert.Single(rig.Mails());
    }

    [Fact]
    public async Task Only_a_verified_click_lifts_a_suppression()
    {
        await using var rig = await PeopleRig.StartAsync(TestClock.Standing());
        await rig.Pipeline.ImportAsync((Email, null));
        await DropAsync(rig, "First");
        await rig.HandleAsync(rig.Follow(CommandKind.Unsubscribe, PeopleRig.UnsubscribeIn(rig.LastMail())));
        var clock = (TestClock)rig.Pipeline.Time;

        await rig.HandleAsync(rig.Subscribe(Email));
        Assert.Equal(2, rig.Mails().Count);
        clock.Advance(TimeSpan.FromDays(29));
        await rig.HandleAsync(rig.Subscribe(Email, "other"));
        Assert.Equal(2, rig.Mails().Count);
        clock.Advance(TimeSpan.FromDays(1));
        await rig.HandleAsync(rig.Subscribe(Email));
        Assert.Equal(3, rig.Mails().Count);
        Assert.Single(await rig.Context.Database.ListSuppressionsAsync(None));

        await rig.HandleAsync(rig.Follow(CommandKind.Verify, PeopleRig.LinkIn(rig.LastMail(), "verify")));
        Assert.Empty(await rig.Context.Database.ListSuppressionsAsync(None));
        Assert.Empty(await rig.Context.Register.ListSuppressionsAsync(None));
        Assert.Equal([new Subscription(Email, null)], await rig.Context.Database.ListSubscribersAsync(None).ToListAsync(None));
    }

    [Fact]
    public async Task Unsubscribing_before_verifying_suppresses_the_address()
    {
        await using var rig = await PeopleRig.StartAsync();
        await rig.HandleAsync(rig.Subscribe(Email));
        var mail = rig.LastMail();
        await rig.HandleAsync(rig.Follow(CommandKind.Unsubscribe, PeopleRig.UnsubscribeIn(mail)));
        await rig.HandleAsync(rig.Follow(CommandKind.Verify, PeopleRig.LinkIn(mail, "verify")));
        Assert.Empty(await rig.Context.Database.ListSubscribersAsync(None).ToListAsync(None));
        Assert.Equal(SuppressionReason.Unsubscribed, Assert.Single(await rig.Context.Database.ListSuppressionsAsync(None)).Reason);
    }

    [Fact]
    public async Task Subscriber_of_a_domain_unsubscribes_from_that_domain_only()
    {
        await using var rig = await PeopleRig.StartAsync();
        await rig.Pipeline.ImportAsync((Email, "example.com"), (Email, "example.org"));
        await DropAsync(rig, "First");
        await rig.HandleAsync(rig.Follow(CommandKind.Unsubscribe, PeopleRig.UnsubscribeIn(rig.LastMail())));
        Assert.Equal([new Subscription(Email, "example.org")], await rig.Context.Database.ListSubscribersAsync(None).ToListAsync(None));
    }

    [Fact]
    public async Task Mail_that_could_not_be_sent_is_sent_once_by_a_redelivery()
    {
        await using var rig = await PeopleRig.StartAsync();
        var isDown = true;
        rig.Smtp.Script = step => isDown && step.Name == "RCPT" ? SmtpAnswer.Say("451 4.3.0 later") : null;
        var subscribe = rig.Subscribe(Email);
        await Assert.ThrowsAsync<RecipientDeferredException>(() => rig.HandleAsync(subscribe));
        isDown = false;
        await rig.HandleAsync(subscribe);
        await rig.HandleAsync(subscribe);
        var verify = rig.Follow(CommandKind.Verify, PeopleRig.LinkIn(Assert.Single(rig.Mails()).Mail, "verify"));
        isDown = true;
        await Assert.ThrowsAsync<RecipientDeferredException>(() => rig.HandleAsync(verify));
        isDown = false;
        await rig.HandleAsync(verify);
        await rig.HandleAsync(verify);
        Assert.Equal(
            ["Confirm your address for breach notifications", "You are subscribed to breach notifications"],
            rig.Mails().Select(one => one.Mail.Subject));
        Assert.Single(await rig.Context.Database.ListSubscribersAsync(None).ToListAsync(None));
    }

    [Fact]
    public async Task Refused_mail_is_given_up()
    {
        await using var rig = await PeopleRig.StartAsync();
        rig.Smtp.Script = step => step.Name == "RCPT" ? SmtpAnswer.Say("550 5.1.1 unknown") : null;
        var subscribe = rig.Subscribe(Email);
        await rig.HandleAsync(subscribe);
        rig.Smtp.Script = null;
        await rig.HandleAsync(subscribe);
        Assert.Empty(rig.Mails());
    }

    [Fact]
    public async Task Address_is_suppressed_after_two_refusals_as_unknown_until_its_owner_verifies_it()
    {
        await using var rig = await PeopleRig.StartAsync();
        await rig.Pipeline.ImportAsync((Email, null), ("bob@example.com", null));
        rig.Smtp.Script = step => step.Name == "RCPT" && step.Line.Contains(Email, StringComparison.Ordinal)
            ? SmtpAnswer.Say("550 5.1.1 unknown") : null;
        foreach (var name in (string[])["First", "Second"])
        {
            Assert.Empty(await rig.Context.Database.ListSuppressionsAsync(None));
            await DropAsync(rig, name);
        }
        Assert.Equal(
            [(rig.Context.SuppressionKey!.HashOf(Email), SuppressionReason.Bounced)],
            (await rig.Context.Database.ListSuppressionsAsync(None)).Select(one => (one.Hash, one.Reason)));
        Assert.Equal(
            [new Subscription("bob@example.com", null)], await rig.Context.Database.ListSubscribersAsync(None).ToListAsync(None));
        Assert.All(await rig.Pipeline.LoadsAsync(), load => Assert.Equal(LoadState.Done, load.State));

        rig.Smtp.Script = null;
        await DropAsync(rig, "Third");
        Assert.Empty(rig.Mails());
        await rig.HandleAsync(rig.Subscribe(Email));
        await rig.HandleAsync(rig.Follow(CommandKind.Verify, PeopleRig.LinkIn(rig.LastMail(), "verify")));
        Assert.Empty(await rig.Context.Database.ListSuppressionsAsync(None));
        await DropAsync(rig, "Fourth");
        Assert.Equal("Your email address is in leaked data: Fourth", rig.LastMail().Subject);
    }

    [Fact]
    public async Task Flood_sends_no_more_mails_than_the_limits_allow()
    {
        await using var rig = await PeopleRig.StartAsync(TestClock.Standing());
        // As many from one network as fit a short test; the benchmark "subscribe" sends 100,000.
        for (var i = 0; i < 60; i++)
            await rig.HandleAsync(rig.Subscribe($"user{i}@domain{i}.com"));
        Assert.Equal(20, rig.Mails().Count);
        for (var i = 0; i < 100; i++)
            await rig.HandleAsync(rig.Subscribe($"victim{i % 10}@example.com", $"network {i}"));
        Assert.Equal(30, rig.Mails().Count);
        ((TestClock)rig.Pipeline.Time).Advance(TimeSpan.FromHours(1));
        rig.Pipeline.Options.Mail.VerifyPerHour = 5;
        for (var i = 0; i < 5; i++)
            await rig.HandleAsync(rig.Subscribe($"later{i}@example.com", $"network {i}"));
        var waits = rig.Subscribe("last@example.com", "network 9");
        var alert = await Assert.ThrowsAsync<UnavailableException>(() => rig.HandleAsync(waits));
        Assert.Contains("HIBP_VERIFYPERHOUR", alert.Message, StringComparison.Ordinal);
        ((TestClock)rig.Pipeline.Time).Advance(TimeSpan.FromHours(1));
        await rig.HandleAsync(waits);
        Assert.Equal(36, rig.Mails().Count);
    }

    [Fact]
    public async Task Web_refuses_the_eleventh_request_of_a_network_within_a_minute()
    {
        await using var rig = await PeopleRig.StartAsync();
        await using var web = await rig.StartWebAsync(proxies: 1);
        for (var i = 0; i < 10; i++)
            await PostAsync(web, "/subscribe", $"email={Email}", "Check your mail", "203.0.113.7");
        var refused = await SendAsync(web, "/subscribe", $"email={Email}", Form, "203.0.113.99");
        Assert.Equal(429, refused.Status);
        Assert.Contains("Wait a minute", refused.Text, StringComparison.Ordinal);
        Assert.InRange(int.Parse(refused.Header("Retry-After"), System.Globalization.CultureInfo.InvariantCulture), 1, 60);
        var json = await SendAsync(web, "/subscribe", "{}", "application/json", "203.0.113.99");
        Assert.Equal(429, json.Json.GetProperty("statusCode").GetInt32());
        await PostAsync(web, "/subscribe", $"email={Email}", "Check your mail", "203.0.114.7");
    }

    [Fact]
    public async Task Store_that_is_down_is_reported_on_a_page()
    {
        await using var rig = await PeopleRig.StartAsync();
        await using var web = await rig.StartWebAsync();
        await new Azure.Storage.Queues.QueueClient(rig.Pipeline.Connection, QueueNames.Commands).DeleteAsync();
        var reply = await SendAsync(web, "/subscribe", $"email={Email}", Form);
        Assert.Equal(503, reply.Status);
        Assert.Contains("nothing was changed", reply.Text, StringComparison.Ordinal);
        Assert.Equal(503, (await SendAsync(web, "/subscribe", $$"""{"email":"{{Email}}"}""", "application/json")).Status);
    }

    private static async Task DropAsync(PeopleRig rig, string name)
    {
        await rig.Pipeline.DropAsync($"{name}.zip", PipelineRig.Zip(("list.txt", Email)));
        await rig.RunToEndAsync();
    }

    private static async Task<string> PostAsync(WebRig web, string path, string body, string shown, string? from = null)
    {
        var reply = await SendAsync(web, path, body, Form, from);
        Assert.Equal((200, "no-store"), (reply.Status, reply.Header("Cache-Control")));
        Assert.Contains($"<h1>{shown}</h1>", reply.Text, StringComparison.Ordinal);
        return reply.Text;
    }

    private static async Task<WebReply> SendAsync(WebRig web, string path, string body, string type, string? from = null)
    {
        using var content = new StringContent(body, Encoding.UTF8, type);
        return await web.PostAsync(path, content, from is null ? [] : [("X-Forwarded-For", from)]);
    }
}
