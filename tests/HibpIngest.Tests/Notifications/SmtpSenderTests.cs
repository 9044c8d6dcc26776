using System.Security.Cryptography.X509Certificates;
using HibpIngest.Delivery;
using HibpIngest.Pipeline.Mail;
using SmtpStep = HibpIngest.Testing.SmtpStep;

namespace HibpIngest.Tests.Notifications;

public sealed class SmtpSenderTests
{
    // Longer than any test waits.
    private static readonly TimeSpan TestTimeout = TimeSpan.FromSeconds(30);

    private const string Header = "Subject: test\r\n\r\n";

    private static readonly (string User, string Password) Login = ("ann@example.com", "secret: pässword");

    private static readonly string[] Words = ["ann", "example.com", "secret", "eve"];

    [Fact]
    public async Task Mails_arrive_unchanged_over_one_connection_with_a_final_line_ending()
    {
        await using var server = new SmtpTestServer();
        await using var sender = NotificationSenders.Create(server.Setting);
        string[] contents = [".\r\n..\r\n.x\r\ny.\r\n", ".first\r\n", "\r\n.\r\n", "plain\r\n", "a\r\nb"];

        foreach (var content in contents)
            await sender.SendAsync(Mail(content, "ann@example.com"), default).WaitAsync(TestTimeout);

        Assert.Equal(
            contents.Select(content => $"{Header}{content}{(content.EndsWith('\n') ? "" : "\r\n")}"),
            server.Mails.Select(mail => Encoding.ASCII.GetString(mail.Content)));
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
    public async Task Composed_mail_with_an_attachment_arrives_byte_for_byte()
    {
        await using var server = new SmtpTestServer();
        await using var sender = NewSender(server);
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
        await using var server = new SmtpTestServer
        {
            Certificate = certificate,
            ImplicitTls = tls == SmtpTls.Implicit,
            Login = Login,
            Logins = logins,
        };
        await using var sender = NewSender(server, tls, certificate);

        await SendAsync(sender);

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
        await using var server = new SmtpTestServer { Certificate = certificate, ImplicitTls = tls == SmtpTls.Implicit, Login = Login };
        await using var sender = NewSender(server, tls, isTrusted ? certificate : null);

        await RefusesAsync<StoreRefusedException>(sender, "certificate");

        Assert.DoesNotContain(server.Commands, line => line.Split(' ')[0] is "AUTH" or "MAIL");
    }

    [Fact]
    public async Task Server_without_starttls_gets_no_command_after_ehlo()
    {
        await using var server = new SmtpTestServer { Login = Login };
        await using var sender = NewSender(server, SmtpTls.StartTls);

        await RefusesAsync<StoreRefusedException>(sender, "STARTTLS");

        Assert.Equal(["EHLO [127.0.0.1]"], server.Commands);
    }

    [Fact]
    public async Task Reply_injected_before_the_tls_handshake_is_refused()
    {
        using var certificate = SmtpTestServer.CreateCertificate();
        await using var server = new SmtpTestServer
        {
            Certificate = certificate,
            Script = step => step.Name == "STARTTLS" ? SmtpAnswer.Raw("220 go ahead\r\n250 injected\r\n") : null,
        };
        await using var sender = NewSender(server, SmtpTls.StartTls, certificate);

        await RefusesAsync<StoreRefusedException>(sender, "unencrypted after STARTTLS");
    }

    [Fact]
    public async Task Server_without_a_known_login_mechanism_is_refused()
    {
        await using var server = new SmtpTestServer { Login = Login, Logins = "GSSAPI XOAUTH2" };
        await using var sender = NewSender(server);

        await RefusesAsync<StoreRefusedException>(sender, "no supported login mechanism");
    }

    /// <summary>The next mail is sent over this session: the second one if the refusal ends the first.</summary>
    [Theory]
    [InlineData("RCPT", "550 5.1.1 <ann@example.com> is unknown", typeof(RecipientUnknownException), 1)]
    [InlineData("RCPT", "550-5.1.1 ann@example.com\r\n550-5.1.1 is nobody\r\n550 5.1.1 here", typeof(RecipientUnknownException), 1)]
    [InlineData("RCPT", "550 5.1.10 null MX", typeof(RecipientUnknownException), 1)]
    [InlineData("RCPT", "550 5.2.1 disabled", typeof(RecipientUnknownException), 1)]
    [InlineData("RCPT", "501 5.1.3 bad address", typeof(RecipientUnknownException), 1)]
    [InlineData("RCPT", "550 no such user", typeof(BadInputException), 1)]
    [InlineData("RCPT", "553 ann@example.com: no", typeof(BadInputException), 1)]
    [InlineData("RCPT", "552 5.2.2 full", typeof(BadInputException), 1)]
    [InlineData("RCPT", "550 5.7.1 blocked", typeof(BadInputException), 1)]
    [InlineData("DATA", "554 5.5.1 no valid recipients", typeof(BadInputException), 1)]
    [InlineData(".", "550 5.1.1 content", typeof(BadInputException), 1)]
    [InlineData(".", "552 5.3.4 too big", typeof(BadInputException), 1)]
    [InlineData(".", "550 5.7.1 spam to ann@example.com", typeof(BadInputException), 1)]
    [InlineData("RCPT", "450 4.2.1 ann@example.com is busy", typeof(RecipientDeferredException), 1)]
    [InlineData("DATA", "451 4.3.0 not now", typeof(RecipientDeferredException), 1)]
    [InlineData(".", "452 4.3.1 full", typeof(RecipientDeferredException), 1)]
    [InlineData("greeting", "421 4.3.2 not now", typeof(UnavailableException), 2)]
    [InlineData("EHLO", "421 4.3.2 not now", typeof(UnavailableException), 2)]
    [InlineData("AUTH", "454 4.7.0 not now", typeof(UnavailableException), 2)]
    [InlineData("MAIL", "451 4.3.0 not now", typeof(UnavailableException), 2)]
    [InlineData("RCPT", "421 4.7.0 slow down", typeof(UnavailableException), 2)]
    [InlineData(".", "421 4.3.2 not now", typeof(UnavailableException), 2)]
    [InlineData("greeting", "554 5.7.1 blocked", typeof(StoreRefusedException), null)]
    [InlineData("EHLO", "502 5.5.1 no", typeof(StoreRefusedException), null)]
    [InlineData("AUTH", "535 5.7.8 no, ann@example.com", typeof(StoreRefusedException), null)]
    [InlineData("AUTH", "504 5.7.4 no", typeof(StoreRefusedException), null)]
    [InlineData("MAIL", "550 5.7.1 not yours", typeof(StoreRefusedException), null)]
    [InlineData("MAIL", "530 5.7.0 log in", typeof(StoreRefusedException), null)]
    [InlineData("RCPT", "530 5.7.0 log in", typeof(StoreRefusedException), null)]
    [InlineData("RCPT", "503 5.5.1 order", typeof(StoreRefusedException), null)]
    public async Task Refusal_is_classified_by_its_step_and_codes(string at, string answer, Type expected, int? session)
    {
        string[] many = ["PIPELINING", "SIZE 100000", "CHUNKING", "BINARYMIME", "SMTPUTF8", "DSN", "ENHANCEDSTATUSCODES"];
        await Assert.AllAsync((string[][])[[], many], async extensions =>
        {
            var refused = 0;
            await using var server = new SmtpTestServer
            {
                Login = Login,
                Extensions = extensions,
                Script = step => step.Name == at && Interlocked.Exchange(ref refused, 1) == 0 ? SmtpAnswer.Say(answer) : null,
            };
            await using var sender = NewSender(server);

            var refusal = await Assert.ThrowsAsync(expected, () => SendAsync(sender));

            AssertRevealsNothing(refusal);
            var codes = string.Join(' ', answer.Split(' ', '-').TakeWhile(word => char.IsAsciiDigit(word[0])));
            Assert.Matches($": {Regex.Escape(codes)}{(session is null ? ";" : "$")}", refusal.Message);
            if (session is null)
                return;
            await SendAsync(sender, ".b\r\n", "bea@example.org");
            var mail = Assert.Single(server.Mails);
            Assert.Equal(Header + ".b\r\n", Encoding.ASCII.GetString(mail.Content));
            Assert.Equal(("bea@example.org", session.Value), (mail.To, mail.Session));
            Assert.Empty(server.Offences);
        });
    }

    public static TheoryData<string> Steps => ["greeting", "EHLO", "STARTTLS", "tls", "MAIL", "RCPT", "DATA", "."];

    [Theory]
    [MemberData(nameof(Steps))]
    public async Task Dropped_connection_is_unavailability(string at)
    {
        using var certificate = SmtpTestServer.CreateCertificate();
        await using var server = new SmtpTestServer
        {
            Certificate = certificate,
            Script = step => step is { Session: 1 } && step.Name == at ? SmtpAnswer.Drop() : null,
        };
        await using var sender = NewSender(server, SmtpTls.StartTls, certificate);

        await RefusesAsync<UnavailableException>(sender, "");
        await SendAsync(sender, "again\r\n");

        Assert.Equal(2, Assert.Single(server.Mails).Session);
    }

    [Fact]
    public async Task Resend_after_a_lost_connection_has_the_same_message_id()
    {
        await using var server = new SmtpTestServer { Script = step => step is { Session: 1, Name: "." } ? SmtpAnswer.TakeAndDrop : null };
        await using var sender = NewSender(server);
        var composer = new MailComposer("notices@hibp.test");
        var notification = new Notification { Id = 9, Number = 1, Email = "ann@example.com", Accounts = 1 };
        var breach = new Breach { Name = "Adobe", Metadata = new BreachMetadata() };

        await Assert.ThrowsAsync<UnavailableException>(() => SendAtAsync(DateTimeOffset.UnixEpoch));
        await SendAtAsync(DateTimeOffset.UnixEpoch.AddHours(1));

        Assert.Equal(2, server.Mails.Count);
        Assert.Single(server.Mails.Select(mail => MailReader.Read(mail.Content).Header("Message-ID")).Distinct());

        Task SendAtAsync(DateTimeOffset date) =>
            sender.SendAsync(composer.Compose(notification, breach, null, complete: true, date), default).WaitAsync(TestTimeout);
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
        var (script, silent) = AnswerAt(at, SmtpAnswer.Silence);
        using var certificate = SmtpTestServer.CreateCertificate();
        await using var server = new SmtpTestServer { Certificate = certificate, Login = Login, Script = script };
        await using var sender = NewSender(server, SmtpTls.StartTls, certificate, time);

        var sending = RefusesAsync<UnavailableException>(sender, $"did not respond to {named} within {seconds} s");
        await silent.WaitAsync(TestTimeout);
        time.Advance(TimeSpan.FromSeconds(seconds - 1));
        Assert.False(sending.IsCompleted);
        await time.AdvanceUntilAsync(sending, TimeSpan.FromSeconds(seconds)).WaitAsync(TestTimeout);
        await sending;
    }

    [Fact]
    public async Task Mail_times_out_after_240_seconds_in_total()
    {
        var time = TestClock.WithTimersByHand();
        var (script, silent) = AnswerAt("RCPT", SmtpAnswer.Silence);
        await using var server = new SmtpTestServer { Script = script };
        var hour = TimeSpan.FromHours(1);
        await using var sender = new SmtpSender(
            new SmtpServer { Host = "127.0.0.1", Port = server.Port, Tls = SmtpTls.None, MaxConnections = 1, CommandTimeout = hour }, time);

        var sending = RefusesAsync<UnavailableException>(sender, "within 240 s in all");
        await silent.WaitAsync(TestTimeout);
        var waiting = RefusesAsync<UnavailableException>(sender, "within 240 s in all");
        time.Advance(TimeSpan.FromSeconds(239));
        Assert.False(sending.IsCompleted || waiting.IsCompleted);
        await time.AdvanceUntilAsync(Task.WhenAll(sending, waiting), TimeSpan.FromSeconds(240)).WaitAsync(TestTimeout);

        await Task.WhenAll(sending, waiting);
    }

    public static TheoryData<string> NotSmtp =>
    [
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "\0\u0001\u0015\u0003\u0001\n", "25\r\n", "\r\n", "2500 ok\r\n",
        "199 ok\r\n", "650 ok\r\n", "2x0 ok\r\n", "-50 ok\r\n",
        // RFC 5321 forbids differing codes: which one is meant is unknown, and MailKit accepts neither.
        "250-one\r\n251 two\r\n",
    ];

    [Theory]
    [MemberData(nameof(NotSmtp))]
    public async Task Reply_that_is_not_smtp_is_unavailability(string garbage)
    {
        foreach (var at in new[] { "greeting", "EHLO", "RCPT", "." })
        {
            await using var server = new SmtpTestServer { Script = step => step.Name == at ? SmtpAnswer.Raw(garbage) : null };
            await using var sender = NewSender(server);

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
            await using var sender = NewSender(server);

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
        await using var sender = NewSender(server);

        await SendAsync(sender);

        Assert.Contains(".", server.Commands);
    }

    [Fact]
    public async Task Connection_closed_between_mails_is_reopened()
    {
        await using var server = new SmtpTestServer
        {
            Script = step => step is { Session: 1, Name: "." } ? SmtpAnswer.Drop("250 2.0.0 ok") : null,
        };
        await using var sender = NewSender(server);

        await SendAsync(sender, "one\r\n");
        await SendAsync(sender, "two\r\n");

        Assert.Equal([1, 2], server.Mails.Select(mail => mail.Session));
    }

    [Fact]
    public async Task Connection_idle_for_30_seconds_is_not_reused()
    {
        var time = TestClock.WithTimersByHand();
        await using var server = new SmtpTestServer();
        await using var sender = NewSender(server, time: time);

        await SendAsync(sender, "one\r\n");
        time.Advance(TimeSpan.FromSeconds(29));
        await SendAsync(sender, "two\r\n");
        time.Advance(TimeSpan.FromSeconds(30));
        await SendAsync(sender, "three\r\n");

        Assert.Equal([1, 1, 2], server.Mails.Select(mail => mail.Session));
    }

    [Fact]
    public async Task Connection_is_closed_after_its_maximum_of_mails()
    {
        await using var server = new SmtpTestServer();
        await using var sender = new SmtpSender(
            new SmtpServer { Host = "127.0.0.1", Port = server.Port, Tls = SmtpTls.None, MaxMailsPerConnection = 2 }, TimeProvider.System);

        for (var i = 0; i < 3; i++)
            await SendAsync(sender);

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

        await Task.WhenAll(Enumerable.Range(0, 30).Select(i => SendAsync(sender, to: $"user{i}@example.org")));

        Assert.Equal(30, server.Mails.Count);
        Assert.Equal((30, 3, 3), (server.Mails.Select(mail => mail.To).Distinct().Count(), server.MaxAtOnce, server.Connections));
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
        await using var sender = NewSender(server);

        var thrown = await Assert.ThrowsAsync<OperationCanceledException>(() => SendAsync(sender, cancellationToken: cancel.Token));
        await SendAsync(sender, "b\r\n");

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
        await using var sender = NewSender(server);

        await SendAsync(sender, cancellationToken: cancel.Token);

        Assert.Single(server.Mails);
    }

    [Fact]
    public async Task Cancelling_after_the_message_is_sent_waits_at_most_10_seconds()
    {
        var time = TestClock.WithTimersByHand();
        using var cancel = new CancellationTokenSource();
        var (script, silent) = AnswerAt(".", SmtpAnswer.TakeInSilence);
        await using var server = new SmtpTestServer { Script = script };
        await using var sender = NewSender(server, time: time);

        var sending = SendAsync(sender, cancellationToken: cancel.Token);
        await silent.WaitAsync(TestTimeout);
        await cancel.CancelAsync();
        Assert.False(sending.IsCompleted);
        time.Advance(TimeSpan.FromSeconds(10));

        await Assert.ThrowsAsync<OperationCanceledException>(() => sending);
    }

    [Fact]
    public async Task Mail_over_the_server_size_limit_is_refused_before_mail_from()
    {
        await using var server = new SmtpTestServer { Extensions = ["SIZE 1000"] };
        await using var sender = NewSender(server);

        await SendAsync(sender, new string('a', 998 - Header.Length) + "\r\n");
        var refusal = await Assert.ThrowsAsync<BadInputException>(() => SendAsync(sender, new string('a', 999 - Header.Length) + "\r\n"));

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
        await using var sender = NewSender(server);

        var refusal = await Assert.ThrowsAsync(
            expected, () => sender.SendAsync(new OutgoingMail("1", from, to, "a\r\n"u8.ToArray()), default).WaitAsync(TestTimeout));

        Assert.DoesNotContain("ann", refusal.ToString().Split("   at ")[0]);
        Assert.Equal(0, server.Connections);
    }

    [Fact]
    public async Task Refused_connection_is_unavailability()
    {
        string setting;
        await using (var server = new SmtpTestServer())
            setting = server.Setting;
        await using var sender = NotificationSenders.Create(setting);

        await RefusesAsync<UnavailableException>(sender, "ConnectionRefused");
    }

    [Fact]
    public async Task Check_logs_in_and_sends_no_mail()
    {
        await using var server = new SmtpTestServer { Login = Login };
        await using var right = NewSender(server);
        await using var wrong = NewSender(server, password: "Secret");

        await right.CheckAsync("hibp@example.com", default).WaitAsync(TestTimeout);
        await Assert.ThrowsAsync<StoreRefusedException>(() => wrong.CheckAsync("hibp@example.com", default).WaitAsync(TestTimeout));

        Assert.Contains("MAIL FROM:<hibp@example.com>", server.Commands);
        Assert.DoesNotContain(server.Commands, line => line.StartsWith("RCPT", StringComparison.Ordinal));
    }

    /// <summary>Returns a sender that logs in if the server requires it.</summary>
    private static SmtpSender NewSender(
        SmtpTestServer server, SmtpTls tls = SmtpTls.None, X509Certificate2? trusted = null, TimeProvider? time = null,
        string? password = null) =>
        new(
            new SmtpServer
            {
                Host = tls == SmtpTls.None ? "127.0.0.1" : "localhost",
                Port = server.Port,
                Tls = tls,
                User = server.Login?.User,
                Password = password ?? server.Login?.Password,
                TrustedRoots = trusted is null ? null : [trusted],
            },
            time ?? TimeProvider.System);

    private static Task SendAsync(
        INotificationSender sender, string content = "a\r\n", string to = "ann@example.com",
        CancellationToken cancellationToken = default) =>
        sender.SendAsync(Mail(content, to), cancellationToken).WaitAsync(TestTimeout);

    /// <summary>Returns a script that gives this answer at a step, and a task that ends once the step is reached.</summary>
    private static (Func<SmtpStep, SmtpAnswer?> Script, Task Reached) AnswerAt(string at, SmtpAnswer answer)
    {
        var reached = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        return (step =>
        {
            if (step.Name != at)
                return null;
            reached.TrySetResult();
            return answer;
        }, reached.Task);
    }

    private static OutgoingMail Mail(string content, string to) =>
        new("7", "notices@hibp.test", to, Encoding.ASCII.GetBytes(Header + content));

    private static async Task RefusesAsync<T>(INotificationSender sender, string words)
        where T : HibpException
    {
        var refusal = await Assert.ThrowsAnyAsync<T>(() => SendAsync(sender));
        Assert.Contains(words, refusal.Message);
        AssertRevealsNothing(refusal);
    }

    /// <summary>Asserts that the error contains no address, no password and nothing else from the server.</summary>
    private static void AssertRevealsNothing(Exception refusal)
    {
        for (var e = refusal; e is not null; e = e.InnerException)
            Assert.DoesNotContain(Words, word => e.Message.Contains(word, StringComparison.OrdinalIgnoreCase));
    }
}
