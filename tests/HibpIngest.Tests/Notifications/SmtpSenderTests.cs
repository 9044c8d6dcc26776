using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using HibpIngest.Delivery;
using HibpIngest.Pipeline.Mail;

namespace HibpIngest.Tests.Notifications;

public sealed class SmtpSenderTests
{
    // Longer than any test waits.
    private static readonly TimeSpan TestTimeout = TimeSpan.FromSeconds(30);

    private const string Header = "Subject: test\r\n\r\n";

    private static readonly string[] Words = ["ann", "example.com", "secret", "eve"];

    [Fact]
    public async Task Mails_arrive_unchanged_over_one_connection()
    {
        await using var server = new SmtpTestServer();
        await using var sender = NotificationSenders.Create(server.Setting);
        string[] contents = [".\r\n..\r\n.x\r\ny.\r\n", ".first\r\n", "\r\n.\r\n", "plain\r\n"];

        foreach (var content in contents)
            await sender.SendAsync(Mail(content), default).WaitAsync(TestTimeout);

        Assert.Equal(contents.Select(content => Header + content), server.Mails.Select(mail => Encoding.ASCII.GetString(mail.Content)));
        Assert.All(
            server.Mails, mail => Assert.Equal(
                ("notices@hibp.test", "ann@example.com", 1, false, null), (mail.From, mail.To, mail.Session, mail.IsSecure, mail.User)));
        Assert.Equal(1, server.Connections);
        Assert.Equal("EHLO [127.0.0.1]", server.Commands.First());
        Assert.Equal(
            ["MAIL FROM:<notices@hibp.test>", "RCPT TO:<ann@example.com>", "DATA", ".", "RSET", "MAIL FROM:<notices@hibp.test>"],
            server.Commands.Skip(1).Take(6));
        Assert.Empty(server.Offences);
    }

    [Fact]
    public async Task Message_without_a_final_line_ending_gets_one()
    {
        await using var server = new SmtpTestServer();
        await using var sender = NotificationSenders.Create(server.Setting);

        await sender.SendAsync(Mail("a\r\nb"), default).WaitAsync(TestTimeout);

        Assert.Equal(Header + "a\r\nb\r\n", Encoding.ASCII.GetString(Assert.Single(server.Mails).Content));
    }

    [Fact]
    public async Task Composed_mail_with_an_attachment_arrives_byte_for_byte()
    {
        await using var server = new SmtpTestServer();
        await using var sender = NotificationSenders.Create(server.Setting);
        var notification = new Notification { Id = 9, Number = 1, Email = "boss@example.org", Domain = "example.org", Accounts = 10_000 };
        var breach = new Breach { Name = "Adobe", Metadata = new BreachMetadata { Description = ". . .\n.\n..." } };
        var accounts = Enumerable.Range(0, 10_000).Select(i => $"user{i}").ToList();
        var mail = new MailComposer("notices@hibp.test").Compose(notification, breach, accounts, complete: true, DateTimeOffset.UnixEpoch);

        await sender.SendAsync(mail, default).WaitAsync(TestTimeout);

        Assert.Equal(mail.Content.ToArray(), Assert.Single(server.Mails).Content);
        Assert.Empty(server.Offences);
    }

    [Theory]
    [InlineData(SmtpTls.StartTls, "PLAIN LOGIN", "AUTH PLAIN")]
    [InlineData(SmtpTls.StartTls, "LOGIN", "AUTH LOGIN")]
    [InlineData(SmtpTls.Implicit, "PLAIN", "AUTH PLAIN")]
    public async Task Login_is_sent_over_tls(SmtpTls tls, string logins, string command)
    {
        using var certificate = SmtpTestServer.CreateCertificate();
        await using var server =
            new SmtpTestServer
            {
                Certificate = certificate,
                ImplicitTls = tls == SmtpTls.Implicit,
                Login = ("ann@example.com", "secret: pässword"),
                Logins = logins
            };
        await using var sender = new SmtpSender(
            Server(server, tls, "ann@example.com", "secret: pässword", certificate), TimeProvider.System);

        await sender.SendAsync(Mail("a\r\n"), default).WaitAsync(TestTimeout);

        var mail = Assert.Single(server.Mails);
        Assert.True(mail.IsSecure);
        Assert.Equal("ann@example.com", mail.User);
        Assert.Contains(server.Commands, line => line.StartsWith(command, StringComparison.Ordinal));
        Assert.Equal(tls == SmtpTls.StartTls, server.Commands.Contains("STARTTLS"));
        Assert.Equal(tls == SmtpTls.StartTls ? 2 : 1, server.Commands.Count(line => line.StartsWith("EHLO", StringComparison.Ordinal)));
        Assert.Empty(server.Offences);
        Assert.DoesNotContain("secret", sender.DisplayName);
        Assert.DoesNotContain("ann", sender.DisplayName);
    }

    [Theory]
    [InlineData(SmtpTls.StartTls, false, "localhost")]
    [InlineData(SmtpTls.Implicit, false, "localhost")]
    [InlineData(SmtpTls.Implicit, true, "other.test")]
    public async Task Server_with_an_untrusted_or_mismatched_certificate_gets_no_password(SmtpTls tls, bool isTrusted, string name)
    {
        using var certificate = SmtpTestServer.CreateCertificate(name);
        await using var server =
            new SmtpTestServer { Certificate = certificate, ImplicitTls = tls == SmtpTls.Implicit, Login = ("ann@example.com", "secret") };
        await using var sender = new SmtpSender(
            Server(server, tls, "ann@example.com", "secret", isTrusted ? certificate : null), TimeProvider.System);

        await RefusesAsync<StoreRefusedException>(sender, "certificate");

        Assert.DoesNotContain(
            server.Commands, line => line.StartsWith("AUTH", StringComparison.Ordinal) || line.StartsWith(
                "MAIL", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Server_without_starttls_gets_no_command_after_ehlo()
    {
        await using var server = new SmtpTestServer { Login = ("ann@example.com", "secret") };
        await using var sender = new SmtpSender(Server(server, SmtpTls.StartTls, "ann@example.com", "secret"), TimeProvider.System);

        await RefusesAsync<StoreRefusedException>(sender, "STARTTLS");

        Assert.Equal(["EHLO [127.0.0.1]"], server.Commands);
    }

    [Fact]
    public async Task Reply_injected_before_the_tls_handshake_is_refused()
    {
        using var certificate = SmtpTestServer.CreateCertificate();
        await using var server =
            new SmtpTestServer
            {
                Certificate = certificate,
                Script = step => step.Name == "STARTTLS"
                ? SmtpAnswer.Raw("220 go ahead\r\n250 injected\r\n") : null
            };
        await using var sender = new SmtpSender(Server(server, SmtpTls.StartTls, trusted: certificate), TimeProvider.System);

        await RefusesAsync<StoreRefusedException>(sender, "unencrypted after STARTTLS");
    }

    [Fact]
    public async Task Server_without_a_known_login_mechanism_is_refused()
    {
        await using var server = new SmtpTestServer { Login = ("ann@example.com", "secret"), Logins = "GSSAPI XOAUTH2" };
        await using var sender = new SmtpSender(Server(server, SmtpTls.None, "ann@example.com", "secret"), TimeProvider.System);

        await RefusesAsync<StoreRefusedException>(sender, "no supported login mechanism");
    }

    [Theory]
    [InlineData("RCPT", "550 5.1.1 <ann@example.com> is unknown", true)]
    [InlineData("RCPT", "550 5.1.10 null MX", true)]
    [InlineData("RCPT", "550 5.2.1 disabled", true)]
    [InlineData("RCPT", "550 no such user", false)]
    [InlineData("RCPT", "552 5.2.2 full", false)]
    [InlineData("RCPT", "550 5.7.1 blocked", false)]
    [InlineData(".", "550 5.1.1 content", false)]
    public async Task Address_is_unknown_by_the_enhanced_code_of_its_refusal(string at, string answer, bool isUnknown)
    {
        await using var server = new SmtpTestServer();
        server.Script = step => step.Name == at ? SmtpAnswer.Say(answer) : null;
        await using var sender = NotificationSenders.Create(server.Setting);
        var refusal = await Assert.ThrowsAnyAsync<BadInputException>(() => sender.SendAsync(Mail("a\r\n"), default).WaitAsync(TestTimeout));
        Assert.Equal(isUnknown, refusal is RecipientUnknownException);
    }

    [Theory]
    [InlineData("RCPT", "550 5.1.1 <ann@example.com> is unknown", "550 5.1.1")]
    [InlineData("RCPT", "553 ann@example.com: no", "553")]
    [InlineData("RCPT", "501 5.1.3 bad address", "501 5.1.3")]
    [InlineData("DATA", "554 5.5.1 no valid recipients", "554 5.5.1")]
    [InlineData(".", "552 5.3.4 too big", "552 5.3.4")]
    [InlineData(".", "550 5.7.1 spam to ann@example.com", "550 5.7.1")]
    public async Task Permanent_refusal_of_recipient_or_message_fails_only_that_mail(string at, string answer, string codes)
    {
        await using var server = new SmtpTestServer();
        server.Script = step =>
            step.Name == at && server.Mails.IsEmpty && !server.Commands.Contains("RSET") ? SmtpAnswer.Say(answer) : null;
        await using var sender = NotificationSenders.Create(server.Setting);

        await RefusesAsync<BadInputException>(sender, $": {codes}");
        await sender.SendAsync(Mail("next\r\n", "bea@example.org"), default).WaitAsync(TestTimeout);

        // The connection is still usable for the next mail.
        var mail = Assert.Single(server.Mails);
        Assert.Equal(("bea@example.org", 1), (mail.To, mail.Session));
    }

    [Theory]
    [InlineData("greeting", "554 5.7.1 blocked", "554 5.7.1")]
    [InlineData("EHLO", "502 5.5.1 no", "502 5.5.1")]
    [InlineData("AUTH", "535 5.7.8 no, ann@example.com", "535 5.7.8")]
    [InlineData("AUTH", "504 5.7.4 no", "504 5.7.4")]
    [InlineData("MAIL", "550 5.7.1 not yours", "550 5.7.1")]
    [InlineData("MAIL", "530 5.7.0 log in", "530 5.7.0")]
    [InlineData("RCPT", "530 5.7.0 log in", "530 5.7.0")]
    [InlineData("RCPT", "503 5.5.1 order", "503 5.5.1")]
    public async Task Other_permanent_refusal_is_a_configuration_error(string at, string answer, string codes)
    {
        await using var server =
            new SmtpTestServer { Login = ("ann@example.com", "secret"), Script = step => step.Name == at ? SmtpAnswer.Say(answer) : null };
        await using var sender = new SmtpSender(Server(server, SmtpTls.None, "ann@example.com", "secret"), TimeProvider.System);

        await RefusesAsync<StoreRefusedException>(sender, $": {codes};");
    }

    [Theory]
    [InlineData("greeting", "421 4.3.2 not now")]
    [InlineData("EHLO", "421 4.3.2 not now")]
    [InlineData("AUTH", "454 4.7.0 not now")]
    [InlineData("MAIL", "451 4.3.0 not now")]
    [InlineData("RCPT", "421 4.7.0 slow down")]
    [InlineData(".", "421 4.3.2 not now")]
    public async Task Transient_refusal_is_unavailability(string at, string answer)
    {
        await using var server =
            new SmtpTestServer
            {
                Login = ("ann@example.com", "secret"),
                Script = step => step is { Session: 1 } && step.Name == at
                ? SmtpAnswer.Say(answer) : null
            };
        await using var sender = new SmtpSender(Server(server, SmtpTls.None, "ann@example.com", "secret"), TimeProvider.System);

        await RefusesAsync<UnavailableException>(sender, answer[..9]);
        await sender.SendAsync(Mail("again\r\n"), default).WaitAsync(TestTimeout);

        Assert.Equal(2, Assert.Single(server.Mails).Session);
    }

    [Theory]
    [InlineData("RCPT", "450 4.2.1 ann@example.com is busy")]
    [InlineData("DATA", "451 4.3.0 not now")]
    [InlineData(".", "452 4.3.1 full")]
    public async Task Transient_refusal_of_the_recipient_defers_it_and_keeps_the_connection(string at, string answer)
    {
        var refused = 0;
        await using var server = new SmtpTestServer
        {
            Script = step => step.Name == at && Interlocked.Exchange(ref refused, 1) == 0 ? SmtpAnswer.Say(answer) : null,
        };
        await using var sender = new SmtpSender(Server(server, SmtpTls.None), TimeProvider.System);

        await RefusesAsync<RecipientDeferredException>(sender, answer[..9]);
        await sender.SendAsync(Mail("again\r\n"), default).WaitAsync(TestTimeout);

        Assert.Equal(1, Assert.Single(server.Mails).Session);
        Assert.Empty(server.Offences);
    }

    [Theory]
    [InlineData("greeting")]
    [InlineData("EHLO")]
    [InlineData("STARTTLS")]
    [InlineData("tls")]
    [InlineData("MAIL")]
    [InlineData("RCPT")]
    [InlineData("DATA")]
    [InlineData(".")]
    public async Task Dropped_connection_is_unavailability(string at)
    {
        using var certificate = SmtpTestServer.CreateCertificate();
        await using var server =
            new SmtpTestServer
            {
                Certificate = certificate,
                Script = step => step is { Session: 1 } && step.Name == at
                ? SmtpAnswer.Drop() : null
            };
        await using var sender = new SmtpSender(Server(server, SmtpTls.StartTls, trusted: certificate), TimeProvider.System);

        await RefusesAsync<UnavailableException>(sender, "");
        await sender.SendAsync(Mail("again\r\n"), default).WaitAsync(TestTimeout);

        Assert.Equal(2, Assert.Single(server.Mails).Session);
    }

    [Fact]
    public async Task Resend_after_a_lost_connection_has_the_same_message_id()
    {
        await using var server = new SmtpTestServer { Script = step => step is { Session: 1, Name: "." } ? SmtpAnswer.TakeAndDrop : null };
        await using var sender = NotificationSenders.Create(server.Setting);
        var composer = new MailComposer("notices@hibp.test");
        var notification = new Notification { Id = 9, Number = 1, Email = "ann@example.com", Accounts = 1 };
        var breach = new Breach { Name = "Adobe", Metadata = new BreachMetadata() };

        await Assert.ThrowsAsync<UnavailableException>(
            () => sender.SendAsync(composer.Compose(notification, breach, null, complete: true, DateTimeOffset.UnixEpoch), default)
            .WaitAsync(TestTimeout));
        await sender.SendAsync(composer.Compose(notification, breach, null, complete: true, DateTimeOffset.UnixEpoch.AddHours(1)), default)
            .WaitAsync(TestTimeout);

        Assert.Equal(2, server.Mails.Count);
        Assert.Single(server.Mails.Select(mail => MailReader.Read(mail.Content).Header("Message-ID")).Distinct());
    }

    [Theory]
    [InlineData("greeting", "the greeting", 30)]
    [InlineData("tls", "the TLS handshake", 30)]
    [InlineData("EHLO", "EHLO", 30)]
    [InlineData("AUTH", "AUTH", 30)]
    [InlineData("MAIL", "MAIL FROM", 30)]
    [InlineData("RCPT", "RCPT TO", 30)]
    [InlineData("DATA", "DATA", 30)]
    [InlineData(".", "the message", 120)]
    public async Task Silent_server_times_out_in_every_phase(string at, string named, int seconds)
    {
        var time = TestClock.WithTimersByHand();
        var silence = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using var certificate = SmtpTestServer.CreateCertificate();
        await using var server = new SmtpTestServer
        {
            Certificate = certificate,
            Login = ("ann@example.com", "secret"),
            Script = step =>
            {
                if (step.Name != at)
                    return null;
                silence.TrySetResult();
                return SmtpAnswer.Silence;
            },
        };
        await using var sender = new SmtpSender(Server(server, SmtpTls.StartTls, "ann@example.com", "secret", certificate), time);

        var sending = RefusesAsync<UnavailableException>(sender, $"did not respond to {named} within {seconds} s");
        await silence.Task.WaitAsync(TestTimeout);
        time.Advance(TimeSpan.FromSeconds(seconds - 1));
        Assert.False(sending.IsCompleted);
        await time.AdvanceUntilAsync(sending, TimeSpan.FromSeconds(seconds)).WaitAsync(TestTimeout);
        await sending;
    }

    [Fact]
    public async Task Mail_times_out_after_240_seconds_in_total()
    {
        var time = TestClock.WithTimersByHand();
        var silence = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using var server = new SmtpTestServer
        {
            Script = step =>
            {
                if (step.Name != "RCPT")
                    return null;
                silence.TrySetResult();
                return SmtpAnswer.Silence;
            },
        };
        await using var sender = new SmtpSender(
            new SmtpServer
            {
                Host = "127.0.0.1",
                Port = server.Port,
                Tls = SmtpTls.None,
                MaxConnections = 1,
                CommandTimeout = TimeSpan.FromHours(1)
            }, time);

        var sending = RefusesAsync<UnavailableException>(sender, "within 240 s in all");
        await silence.Task.WaitAsync(TestTimeout);
        var waiting = RefusesAsync<UnavailableException>(sender, "within 240 s in all");
        time.Advance(TimeSpan.FromSeconds(239));
        Assert.False(sending.IsCompleted || waiting.IsCompleted);
        await time.AdvanceUntilAsync(Task.WhenAll(sending, waiting), TimeSpan.FromSeconds(240)).WaitAsync(TestTimeout);

        await Task.WhenAll(sending, waiting);
    }

    [Theory]
    [InlineData("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")]
    [InlineData("\0\u0001\u0015\u0003\u0001\n")]
    [InlineData("25\r\n")]
    [InlineData("\r\n")]
    [InlineData("2500 ok\r\n")]
    [InlineData("199 ok\r\n")]
    [InlineData("650 ok\r\n")]
    [InlineData("2x0 ok\r\n")]
    [InlineData("-50 ok\r\n")]
    // RFC 5321 forbids differing codes: which one is meant is unknown, and MailKit accepts neither.
    [InlineData("250-one\r\n251 two\r\n")]
    public async Task Reply_that_is_not_smtp_is_unavailability(string garbage)
    {
        foreach (var at in new[] { "greeting", "EHLO", "RCPT", "." })
        {
            await using var server = new SmtpTestServer { Script = step => step.Name == at ? SmtpAnswer.Raw(garbage) : null };
            await using var sender = NotificationSenders.Create(server.Setting);

            await RefusesAsync<UnavailableException>(sender, "not SMTP");
        }
    }

    [Fact]
    public async Task Endless_reply_is_cut_off()
    {
        foreach (var answer in new[] { new string('2', 1_000_000), "250-" + new string('x', 5000) + "\r\n250 ok\r\n",
                string.Concat(Enumerable.Repeat("250-more\r\n", 10_000)) })
        {
            await using var server = new SmtpTestServer { Script = step => step.Name == "EHLO" ? SmtpAnswer.Raw(answer) : null };
            await using var sender = NotificationSenders.Create(server.Setting);

            await RefusesAsync<UnavailableException>(sender, "not SMTP");
        }
    }

    [Theory]
    [InlineData("250-one\r\n250-two\r\n250 three\r\n")]
    [InlineData("250\r\n")]
    [InlineData("250-\r\n250 \r\n")]
    [InlineData("250 bare line end\n")]
    [InlineData("251 elsewhere\r\n")]
    public async Task Every_valid_reply_format_is_read(string answer)
    {
        await using var server =
            new SmtpTestServer { Script = step => step.Name is "MAIL" or "RCPT" or "." ? SmtpAnswer.Raw(answer) : null };
        await using var sender = NotificationSenders.Create(server.Setting);

        await sender.SendAsync(Mail("a\r\n"), default).WaitAsync(TestTimeout);

        Assert.Contains(".", server.Commands);
    }

    [Fact]
    public async Task Multiline_refusal_is_read_to_its_end()
    {
        await using var server = new SmtpTestServer();
        server.Script = step => step.Name == "RCPT" && !server.Commands.Contains("RSET")
            ? SmtpAnswer.Raw("550-5.1.1 ann@example.com\r\n550-5.1.1 is nobody\r\n550 5.1.1 here\r\n") : null;
        await using var sender = NotificationSenders.Create(server.Setting);

        await RefusesAsync<BadInputException>(sender, ": 550 5.1.1");
        await sender.SendAsync(Mail("a\r\n"), default).WaitAsync(TestTimeout);

        Assert.Equal(1, server.Connections);
    }

    [Theory]
    [InlineData("MAIL", "451 4.3.0 not now", typeof(UnavailableException), 2)]
    [InlineData("RCPT", "550 5.1.1 ann@example.com is nobody", typeof(RecipientUnknownException), 1)]
    [InlineData("RCPT", "450 4.2.1 ann@example.com is busy", typeof(RecipientDeferredException), 1)]
    public async Task Refusal_by_a_server_with_many_extensions_is_classified_the_same(string at, string answer, Type expected, int session)
    {
        var refused = 0;
        await using var server = new SmtpTestServer
        {
            Extensions = ["PIPELINING", "SIZE 100000", "CHUNKING", "BINARYMIME", "SMTPUTF8", "DSN", "ENHANCEDSTATUSCODES"],
            Script = step => step.Name == at && Interlocked.Exchange(ref refused, 1) == 0 ? SmtpAnswer.Say(answer) : null,
        };
        await using var sender = NotificationSenders.Create(server.Setting);

        var refusal = await Assert.ThrowsAsync(expected, () => sender.SendAsync(Mail("a\r\n"), default).WaitAsync(TestTimeout));
        await sender.SendAsync(Mail(".b\r\n"), default).WaitAsync(TestTimeout);

        Assert.EndsWith(answer[..9], refusal.Message, StringComparison.Ordinal);
        var mail = Assert.Single(server.Mails);
        Assert.Equal((Header + ".b\r\n", session), (Encoding.ASCII.GetString(mail.Content), mail.Session));
        Assert.Empty(server.Offences);
    }

    [Fact]
    public async Task Connection_closed_between_mails_is_reopened()
    {
        await using var server =
            new SmtpTestServer { Script = step => step is { Session: 1, Name: "." } ? SmtpAnswer.Drop("250 2.0.0 ok") : null };
        await using var sender = NotificationSenders.Create(server.Setting);

        await sender.SendAsync(Mail("one\r\n"), default).WaitAsync(TestTimeout);
        await sender.SendAsync(Mail("two\r\n"), default).WaitAsync(TestTimeout);

        Assert.Equal([1, 2], server.Mails.Select(mail => mail.Session));
    }

    [Fact]
    public async Task Connection_idle_for_30_seconds_is_not_reused()
    {
        var time = TestClock.WithTimersByHand();
        await using var server = new SmtpTestServer();
        await using var sender = new SmtpSender(Server(server, SmtpTls.None), time);

        await sender.SendAsync(Mail("one\r\n"), default).WaitAsync(TestTimeout);
        time.Advance(TimeSpan.FromSeconds(29));
        await sender.SendAsync(Mail("two\r\n"), default).WaitAsync(TestTimeout);
        time.Advance(TimeSpan.FromSeconds(30));
        await sender.SendAsync(Mail("three\r\n"), default).WaitAsync(TestTimeout);

        Assert.Equal([1, 1, 2], server.Mails.Select(mail => mail.Session));
    }

    [Fact]
    public async Task Connection_is_closed_after_its_maximum_of_mails()
    {
        await using var server = new SmtpTestServer();
        await using var sender = new SmtpSender(
            new SmtpServer { Host = "127.0.0.1", Port = server.Port, Tls = SmtpTls.None, MaxMailsPerConnection = 2 }, TimeProvider.System);

        for (var i = 0; i < 3; i++)
            await sender.SendAsync(Mail("a\r\n"), default).WaitAsync(TestTimeout);

        Assert.Equal([1, 1, 2], server.Mails.Select(mail => mail.Session));
        Assert.Contains("QUIT", server.Commands);
    }

    [Fact]
    public async Task Concurrent_mails_use_at_most_the_allowed_connections()
    {
        await using var server = new SmtpTestServer();
        // The first three messages complete together or not at all.
        using var three = new CountdownEvent(3);
        server.Script = step =>
        {
            if (step.Name == "." && !three.IsSet)
            {
                three.Signal();
                Assert.True(three.Wait(TestTimeout));
            }
            return null;
        };
        await using var sender = new SmtpSender(
            new SmtpServer { Host = "127.0.0.1", Port = server.Port, Tls = SmtpTls.None, MaxConnections = 3 }, TimeProvider.System);

        await Task.WhenAll(Enumerable.Range(0, 30).Select(i => sender.SendAsync(Mail("a\r\n", $"user{i}@example.org"), default))).WaitAsync(
            TestTimeout);

        Assert.Equal(30, server.Mails.Select(mail => mail.To).Distinct().Count());
        Assert.Equal(30, server.Mails.Count);
        Assert.Equal(3, server.MaxAtOnce);
        Assert.Equal(3, server.Connections);
    }

    [Fact]
    public async Task Cancelling_before_the_message_is_sent_aborts_it()
    {
        using var cancel = new CancellationTokenSource();
        await using var server = new SmtpTestServer
        {
            Script = step =>
            {
                if (step is not { Session: 1, Name: "RCPT" })
                    return null;
                cancel.Cancel();
                return SmtpAnswer.Silence;
            },
        };
        await using var sender = NotificationSenders.Create(server.Setting);

        var thrown = await Assert.ThrowsAsync<OperationCanceledException>(
            () => sender.SendAsync(Mail("a\r\n"), cancel.Token).WaitAsync(TestTimeout));
        await sender.SendAsync(Mail("b\r\n"), default).WaitAsync(TestTimeout);

        Assert.Equal(cancel.Token, thrown.CancellationToken);
        Assert.Equal(2, Assert.Single(server.Mails).Session);
    }

    [Fact]
    public async Task Cancelling_after_the_message_is_sent_waits_for_the_reply()
    {
        using var cancel = new CancellationTokenSource();
        await using var server = new SmtpTestServer
        {
            Script = step =>
            {
                if (step.Name == ".")
                    cancel.Cancel();
                return null;
            },
        };
        await using var sender = NotificationSenders.Create(server.Setting);

        await sender.SendAsync(Mail("a\r\n"), cancel.Token).WaitAsync(TestTimeout);

        Assert.Single(server.Mails);
    }

    [Fact]
    public async Task Cancelling_after_the_message_is_sent_waits_at_most_10_seconds()
    {
        var time = TestClock.WithTimersByHand();
        using var cancel = new CancellationTokenSource();
        var silence = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using var server = new SmtpTestServer
        {
            Script = step =>
            {
                if (step.Name != ".")
                    return null;
                silence.SetResult();
                return SmtpAnswer.TakeInSilence;
            },
        };
        await using var sender = new SmtpSender(Server(server, SmtpTls.None), time);

        var sending = sender.SendAsync(Mail("a\r\n"), cancel.Token);
        await silence.Task.WaitAsync(TestTimeout);
        await cancel.CancelAsync();
        Assert.False(sending.IsCompleted);
        time.Advance(TimeSpan.FromSeconds(10));

        await Assert.ThrowsAsync<OperationCanceledException>(() => sending.WaitAsync(TestTimeout));
    }

    [Fact]
    public async Task Mail_over_the_server_size_limit_is_refused_before_mail_from()
    {
        await using var server = new SmtpTestServer { Extensions = ["SIZE 1000"] };
        await using var sender = NotificationSenders.Create(server.Setting);

        await sender.SendAsync(Mail(new string('a', 998 - Header.Length) + "\r\n"), default).WaitAsync(TestTimeout);
        var refusal = await Assert.ThrowsAsync<BadInputException>(
            () => sender.SendAsync(Mail(new string('a', 999 - Header.Length) + "\r\n"), default).WaitAsync(TestTimeout));

        Assert.Contains("1001 bytes", refusal.Message);
        Assert.Single(server.Commands, line => line.StartsWith("MAIL", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("notices@hibp.test", "ann@example.com>\r\nRCPT TO:<eve@example.com", typeof(BadInputException))]
    [InlineData("notices@hibp.test", "ann@example.com eve@example.com", typeof(BadInputException))]
    [InlineData("notices@hibp.test>\r\nRSET\r\n", "ann@example.com", typeof(StoreRefusedException))]
    public async Task Address_cannot_inject_a_command(string from, string to, Type expected)
    {
        await using var server = new SmtpTestServer();
        await using var sender = NotificationSenders.Create(server.Setting);

        var refusal = await Assert.ThrowsAsync(
            expected, () => sender.SendAsync(new OutgoingMail("1", from, to, "a\r\n"u8.ToArray()), default).WaitAsync(TestTimeout));

        Assert.DoesNotContain("ann", refusal.ToString().Split("   at ")[0]);
        Assert.Equal(0, server.Connections);
    }

    [Fact]
    public async Task Refused_connection_is_unavailability()
    {
        int port;
        using (var listener = new TcpListener(IPAddress.Loopback, 0))
        {
            listener.Start();
            port = ((IPEndPoint)listener.LocalEndpoint).Port;
        }
        await using var sender = NotificationSenders.Create($"smtp://127.0.0.1:{port}?tls=none");

        await RefusesAsync<UnavailableException>(sender, "ConnectionRefused");
    }

    [Fact]
    public async Task Check_logs_in_and_sends_no_mail()
    {
        await using var server = new SmtpTestServer { Login = ("ann@example.com", "secret") };
        await using var right = new SmtpSender(Server(server, SmtpTls.None, "ann@example.com", "secret"), TimeProvider.System);
        await using var wrong = new SmtpSender(Server(server, SmtpTls.None, "ann@example.com", "Secret"), TimeProvider.System);

        await right.CheckAsync("hibp@example.com", default).WaitAsync(TestTimeout);
        await Assert.ThrowsAsync<StoreRefusedException>(() => wrong.CheckAsync("hibp@example.com", default).WaitAsync(TestTimeout));

        Assert.Contains("MAIL FROM:<hibp@example.com>", server.Commands);
        Assert.DoesNotContain(server.Commands, line => line.StartsWith("RCPT", StringComparison.Ordinal));
    }

    private static SmtpServer Server(
        SmtpTestServer server, SmtpTls tls, string? user = null, string? password = null, X509Certificate2? trusted = null) => new()
        {
            Host = tls == SmtpTls.None ? "127.0.0.1" : "localhost",
            Port = server.Port,
            Tls = tls,
            User = user,
            Password = password,
            TrustedRoots = trusted is null ? null : [trusted],
        };

    private static OutgoingMail Mail(string content, string to = "ann@example.com") =>
        new("7", "notices@hibp.test", to, Encoding.ASCII.GetBytes(Header + content));

    /// <summary>
    /// Asserts that the mail is refused with these words, and without an address, a password or anything else from
    /// the server.
    /// </summary>
    private static async Task RefusesAsync<T>(INotificationSender sender, string words)
        where T : HibpException
    {
        var refusal = await Assert.ThrowsAnyAsync<T>(() => sender.SendAsync(Mail("a\r\n"), default).WaitAsync(TestTimeout));
        Assert.Contains(words, refusal.Message);
        for (Exception? e = refusal; e is not null; e = e.InnerException)
            Assert.DoesNotContain(Words, word => e.Message.Contains(word, StringComparison.OrdinalIgnoreCase));
    }
}
