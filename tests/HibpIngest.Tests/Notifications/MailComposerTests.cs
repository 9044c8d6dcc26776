using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Settings;
using MimeKit;

namespace HibpIngest.Tests.Notifications;

public sealed class MailComposerTests
{
    private static readonly DateTimeOffset Date = new(2026, 3, 7, 9, 5, 3, TimeSpan.FromHours(2));

    private static readonly Notification Person = new() { Id = 42, Number = 1, Email = "ann@example.com", Accounts = 1 };

    private static readonly Notification Company =
        new() { Id = 43, Number = 2, Email = "boss@example.org", Domain = "example.org", Accounts = 3 };

    private static readonly Breach Full = new()
    {
        Name = "Adobe",
        Metadata = new BreachMetadata
        {
            Title = "Adobe & Söhne",
            Domain = "adobe.com",
            BreachDate = new DateOnly(2013, 10, 4),
            Description = "<p>In October 2013, <em>153 million</em> accounts &amp; hints leaked. See <a "
            + "href=\"https://example.com/?a=1&amp;b=2\">more</a>.</p><p>Second<br/>line</p><script>alert('x')</script>",
            DataClasses = ["Email addresses", "Passwords <hashed>"],
            Flags = BreachFlags.Verified,
        },
    };

    [Fact]
    public void Mail_to_a_person_has_the_expected_headers_and_two_parts()
    {
        var mail = Compose(Person, Full);

        var message = MailReader.Read(mail.Content);
        Assert.Equal(("42", "notices@hibp.test", "ann@example.com"), (mail.Name, mail.From, mail.To));
        Assert.Equal(("Breach \"notices\"", "notices@hibp.test"), From(message));
        Assert.Equal(("ann@example.com", "Sat, 07 Mar 2026 07:05:03 +0000"), (message.Header("To"), message.Header("Date")));
        Assert.Equal("Your email address is in leaked data: Adobe & Söhne", message.Header("Subject"));
        Assert.Matches("^<hibp-42-[0-9a-f]{16}@hibp\\.test>$", message.Header("Message-ID"));
        string[] marks = ["Auto-Submitted", "X-Auto-Response-Suppress", "Precedence", "MIME-Version"];
        Assert.Equal(["auto-generated", "All", "bulk", "1.0"], marks.Select(name => message.Header(name)));
        Assert.Equal("multipart/alternative", message.Type);
        Assert.Equal(["text/plain", "text/html"], message.Parts.Select(part => part.Type));
    }

    [Fact]
    public void Text_and_html_parts_describe_the_breach_and_contain_no_links()
    {
        var message = MailReader.Read(Compose(Person, Full).Content);

        string[] inText =
        [
            "The address ann@example.com was found", "Adobe & Söhne\n", "Site: adobe.com\n", "Date: 4 October 2013\n",
            "In October 2013, 153 million accounts & hints leaked. See more.", "- Passwords <hashed>",
            "Change your password at Adobe & Söhne (adobe.com)", "two-step verification", "is subscribed to breach notifications",
        ];
        AssertContains(Unwrap(message.Parts[0].Text), inText, without: ["alert", "PLEASE NOTE", "{{"]);
        string[] inHtml =
        [
            "<strong>ann@example.com</strong>", "Adobe &amp; S&#246;hne", "accounts &amp; hints leaked. See more.",
            "Passwords &lt;hashed&gt;",
        ];
        // The HTML loads nothing and contains no links.
        AssertContains(message.Parts[1].Text, inHtml, without: ["alert", "Please note", "{{", "http", "<img", "<a "]);
    }

    [Theory]
    [InlineData(BreachFlags.None, "is unverified")]
    [InlineData(BreachFlags.Fabricated, "is fabricated")]
    [InlineData(BreachFlags.Malware, "collected by malware")]
    [InlineData(BreachFlags.StealerLog, "stealer logs")]
    [InlineData(BreachFlags.SpamList, "is a spam list")]
    public void Flag_notice_is_in_text_and_html_only_when_the_flag_is_set(BreachFlags flag, string words)
    {
        var set = flag == BreachFlags.None ? BreachFlags.None : flag | BreachFlags.Verified;
        var unset = flag == BreachFlags.None ? BreachFlags.Verified : ~flag;
        foreach (var notification in new[] { Person, Company })
        {
            var with = MailReader.Read(Compose(notification, Flagged(set)).Content);
            var without = MailReader.Read(Compose(notification, Flagged(unset)).Content);
            for (var part = 0; part < 2; part++)
            {
                Assert.Contains(words, Unwrap(with.Leaves[part].Text));
                Assert.DoesNotContain(words, Unwrap(without.Leaves[part].Text));
            }
            Assert.Equal(flag != BreachFlags.None, !Unwrap(with.Leaves[0].Text).Contains("is unverified"));
        }
    }

    [Fact]
    public void Breach_without_verified_is_called_unverified_even_with_all_other_flags() =>
        Assert.Contains("is unverified", TextOf(Person, Flagged(~BreachFlags.Verified)));

    [Theory]
    [InlineData(BreachFlags.Sensitive)]
    [InlineData(BreachFlags.Retired)]
    [InlineData(BreachFlags.SubscriptionFree)]
    public void Flag_without_a_notice_leaves_the_mail_unchanged(BreachFlags flag) =>
        Assert.Equal(Compose(Person, Full).Content.ToArray(), Compose(Person, Flagged(BreachFlags.Verified | flag)).Content.ToArray());

    [Fact]
    public void Breach_with_only_a_name_makes_a_complete_mail()
    {
        var breach = new Breach { Name = "Adobe", Metadata = new BreachMetadata() };

        var message = MailReader.Read(Compose(Person, breach).Content);

        Assert.Equal("Your email address is in leaked data: Adobe", message.Header("Subject"));
        AssertContains(
            Unwrap(message.Parts[0].Text), ["data of this breach:\n\nAdobe\n\nPLEASE NOTE", "Change your password at Adobe,"],
            without: ["WHAT HAPPENED", "WHAT WAS EXPOSED", "Site:", "\n\n\n"]);
    }

    [Fact]
    public void Mail_to_a_domain_attaches_its_accounts_as_csv()
    {
        var message = MailReader.Read(Compose(Company, Full, ["amy@example.org", "bob", "cy@example.org"]).Content);

        Assert.Equal("3 email addresses of example.org in leaked data: Adobe & Söhne", message.Header("Subject"));
        Assert.Equal("multipart/mixed", message.Type);
        Assert.Equal(["multipart/alternative", "text/csv"], message.Parts.Select(part => part.Type));
        var csv = message.Parts[1];
        Assert.Equal("attachment", csv.ContentDisposition?.Disposition);
        Assert.Equal("example.org-accounts.csv", csv.ContentDisposition?.FileName);
        Assert.Equal("email\r\namy@example.org\r\nbob@example.org\r\ncy@example.org\r\n", csv.Text);
        AssertContains(
            Unwrap(message.Leaves[0].Text), ["3 email addresses of example.org are in the data", "They are listed in the attached file."],
            without: ["apostrophe"]);
    }

    [Fact]
    public void Mail_about_one_account_uses_the_singular() => Assert.Contains(
        "1 email address of example.org is in the data", TextOf(Company with { Accounts = 1 }, Full, ["amy"]));

    [Theory]
    [InlineData(10_000, true, 10_000, false)]
    [InlineData(10_001, true, 10_000, true)]
    [InlineData(10_000, false, 10_000, true)]
    public void Attachment_lists_at_most_10000_accounts_and_the_mail_says_so(int given, bool complete, int attached, bool saysFirst)
    {
        var accounts = Enumerable.Range(0, given).Select(i => $"user{i}@example.org").ToList();

        var message = MailReader.Read(Compose(Company with { Accounts = 12_345 }, Full, accounts, complete).Content);

        Assert.Equal(accounts.Take(attached).Prepend("email"), message.Parts[1].Text.Split("\r\n", StringSplitOptions.RemoveEmptyEntries));
        foreach (var part in message.Leaves.Take(2))
        {
            var text = Unwrap(part.Text).Replace("<strong>", "").Replace("</strong>", "");
            Assert.Equal(saysFirst, text.Contains("lists the first 10,000 of 12,345."));
            Assert.Equal(!saysFirst, text.Contains("They are listed"));
        }
    }

    [Fact]
    public void Mail_without_accounts_has_no_attachment()
    {
        var message = MailReader.Read(Compose(Company, Full, []).Content);

        Assert.Equal("multipart/alternative", message.Type);
        Assert.DoesNotContain("attached", message.Parts[0].Text);
    }

    [Fact]
    public void Alias_that_looks_like_a_formula_gets_an_apostrophe()
    {
        var message = MailReader.Read(Compose(Company, Full, ["+1@example.org", "-2+3", "=cmd", "@x", "a+b@example.org"]).Content);

        Assert.Equal(
            "email\r\n'+1@example.org\r\n'-2+3@example.org\r\n'=cmd@example.org\r\n'@x\r\na+b@example.org\r\n", message.Parts[1].Text);
        Assert.Contains("apostrophe in front", Unwrap(message.Leaves[0].Text));
    }

    [Fact]
    public void Composing_the_same_notification_gives_the_same_bytes()
    {
        var accounts = new List<string> { "amy", "bob" };

        Assert.Equal(Compose(Company, Full, accounts).Content.ToArray(), Compose(Company, Full, accounts).Content.ToArray());
    }

    [Fact]
    public void Message_id_ignores_date_and_metadata_and_differs_between_notifications()
    {
        var composer = new MailComposer("notices@hibp.test");
        var first = Id(composer.Compose(Person, Full, null, complete: true, Date));

        Assert.Equal(
            first, Id(composer.Compose(Person, Full with { Metadata = new BreachMetadata() }, null, complete: true, Date.AddDays(1))));
        Assert.Equal(4, new[]
        {
            first,
            Id(composer.Compose(Person with { Id = 7 }, Full, null, complete: true, Date)),
            Id(composer.Compose(Person with { Email = "bea@example.com" }, Full, null, complete: true, Date)),
            Id(composer.Compose(Person, Full with { Name = "Other" }, null, complete: true, Date)),
        }.Distinct().Count());

        static string Id(OutgoingMail mail) => MailReader.Read(mail.Content).Header("Message-ID");
    }

    [Theory]
    [InlineData("A\r\nBcc: eve@example.com\r\n\r\nbody")]
    [InlineData("A\nBcc: eve@example.com")]
    [InlineData("A\rBcc: eve@example.com")]
    [InlineData("A\u2028Bcc: eve@example.com\u0085\0\u202e")]
    public void Title_cannot_inject_a_header(string title)
    {
        var message = MailReader.Read(Compose(Person, Saying(title)).Content);

        Assert.Throws<InvalidDataException>(() => message.Header("Bcc"));
        var subject = message.Header("Subject");
        Assert.StartsWith("Your email address is in leaked data: A Bcc: eve@example.com", subject, StringComparison.Ordinal);
        Assert.DoesNotContain(subject, c => char.IsControl(c) || c is '\u2028' or '\u202e');
        Assert.All(message.Parts, part => Assert.DoesNotContain(part.Text.ReplaceLineEndings("\n"), c => char.IsControl(c) && c != '\n'));
    }

    [Theory]
    [InlineData("ann@example.com\r\nBcc: eve@example.com")]
    [InlineData("ann@example.com>")]
    [InlineData("ann")]
    [InlineData("ann@exa mple.com")]
    [InlineData("ånn@example.com")]
    public void Invalid_address_is_refused_without_repeating_it(string address)
    {
        var refusal = Assert.Throws<BadInputException>(() => Compose(Person with { Email = address }, Full));

        Assert.DoesNotContain("ann", refusal.Message);
        Assert.Contains("notification 42", refusal.Message);
    }

    [Fact]
    public void Long_titles_descriptions_and_lists_are_truncated()
    {
        var breach = Full with
        {
            Metadata = Full.Metadata with
            {
                Title = string.Concat(Enumerable.Repeat("😀", 5000)),
                Description = new string('x', 500_000),
                DataClasses = [.. Enumerable.Range(0, 1000).Select(i => $"Class {i}")],
            },
        };

        var mail = Compose(Person, breach);

        Assert.InRange(mail.Content.Length, 1, 100_000);
        var subject = MailReader.Read(mail.Content).Header("Subject");
        Assert.EndsWith("😀…", subject, StringComparison.Ordinal);
        Assert.DoesNotContain("\ufffd", subject);
    }

    [Fact]
    public void Mail_of_random_text_is_7_bit_with_short_lines()
    {
        // The mail reader checks the form; the input is random.
        var random = new Random(20260307);
        var characters = "abc =?_.<>&\"'\t\r\n-äß漢😀\u0301\0".EnumerateRunes().ToArray();
        for (var i = 0; i < 300; i++)
        {
            var text = string.Concat(
                Enumerable.Range(0, random.Next(0, 400)).Select(_ => characters[random.Next(characters.Length)].ToString()));
            var message = MailReader.Read(Compose(Company, Saying(text), ["amy"]).Content);
            Assert.Equal(3, message.Leaves.Count);
            Assert.DoesNotContain('\ufffd', message.Header("Subject"));
        }
    }

    [Theory]
    [InlineData("notices@localhost", null, "notices@localhost")]
    [InlineData("<a@b.example>", null, "a@b.example")]
    [InlineData("Breach notices <a@b.example>", "Breach notices", "a@b.example")]
    [InlineData(" \"Notices, \\\"daily\\\"\" <a@b.example> ", "Notices, \"daily\"", "a@b.example")]
    [InlineData("Mitteilungen für Sie <a@b.example>", "Mitteilungen für Sie", "a@b.example")]
    public void Sender_setting_is_parsed_and_written_to_a_mail(string text, string? name, string address)
    {
        Assert.Equal(new MailFrom(name, address), MailFrom.Parse(text));
        var mail = new MailComposer(text).Compose(Person, Full, null, complete: true, Date);
        Assert.Equal((name ?? "", address), From(MailReader.Read(mail.Content)));
    }

    public static TheoryData<string> InvalidSenders =>
    [
        "", "notices", "a@b@c", "Name <a@b.example", "Name a@b.example", "a\r\nBcc: x <a@b.example>", "<a@b.example> <c@d.example>",
    ];

    [Theory]
    [MemberData(nameof(InvalidSenders))]
    public void Invalid_sender_setting_is_refused(string text) => Assert.StartsWith(
        "HIBP_MAIL_FROM: expected", Assert.Throws<BadInputException>(() => MailFrom.Parse(text)).Message, StringComparison.Ordinal);

    [Fact]
    public void Mail_names_the_service_and_how_to_unsubscribe()
    {
        using var folder = new TemporaryFolder();
        var logo = folder.Write("logo.png", (byte[])[0x89, (byte)'P', (byte)'N', (byte)'G', 1, 2, 3]);
        var service = new MailService
        {
            Name = "Contoso <Notices>",
            Address = "Main Street 1, 12345 Town",
            Contact = "help@contoso.example",
            Logo = logo,
            Unsubscribe = "mailto:bye@contoso.example?subject=unsubscribe",
        }.Check();
        foreach (var notification in new[] { Person, Company })
        {
            var mail = new MailComposer("notices@hibp.test", service).Compose(notification, Full, null, complete: true, Date);
            var message = MailReader.Read(mail.Content);
            Assert.Equal(("Contoso <Notices>", "notices@hibp.test"), From(message));
            Assert.Equal("<mailto:bye@contoso.example?subject=unsubscribe>", message.Header("List-Unsubscribe"));
            Assert.Equal(["text/plain", "multipart/related"], message.Parts.Select(part => part.Type));
            Assert.Equal("<logo@hibp>", message.Parts[1].Parts[1].Header("Content-ID"));
            foreach (var (text, name) in new[]
            {
                (Unwrap(message.Parts[0].Text), "Contoso <Notices>"), (message.Parts[1].Parts[0].Text, "Contoso &lt;Notices&gt;"),
            })
            {
                Assert.StartsWith(name, text[text.IndexOf("Contoso", StringComparison.Ordinal)..], StringComparison.Ordinal);
                AssertContains(text, ["Main Street 1, 12345 Town", "help@contoso.example", "write to bye@contoso.example"], without: []);
            }
            Assert.Contains("src=\"cid:logo@hibp\"", message.Parts[1].Parts[0].Text, StringComparison.Ordinal);
        }
        // A linked logo is not embedded; a preview embeds the logo as a data URL.
        Assert.Contains(
            "src=\"https://contoso.example/logo.png\"",
            new MailComposer("a@b.example", service with { Logo = "https://contoso.example/logo.png" }).Read(Person, Full).Html,
            StringComparison.Ordinal);
        Assert.Contains(
            "data:image/png;base64,", new MailComposer("a@b.example", service).Read(Person, Full).Html, StringComparison.Ordinal);
        Assert.Equal(("Own", "a@b.example"), From(MailReader.Read(
            new MailComposer("Own <a@b.example>", service).ComposeTest("x@y.example", Date).Content)));
    }

    [Theory]
    [InlineData("individual.txt", "Hello {{email}}: {{title}}{{#site}} ({{site}}){{/site}}", null)]
    [InlineData("individual.txt", "{{nobody}}", "individual.txt: the template uses 'nobody'")]
    [InlineData("domain.html", "{{#attachedPart}}{{nothing}}{{/attachedPart}}", "domain.html: the template uses 'nothing'")]
    [InlineData("individual.html", "{{#site}}", "{{/site}} is missing")]
    [InlineData("individual.html", "{{title", "}} is missing")]
    [InlineData("individual.html", "{{steps}}", "{{steps}} is not a text")]
    [InlineData("individual.html", "<style>@media print{a{b:c}}</style>{{steps}}", "{{steps}} is not a text")]
    [InlineData("indvidual.txt", "", "did you mean individual.txt?")]
    public void Custom_templates_are_validated_before_any_mail(string file, string content, string? refused)
    {
        using var folder = new TemporaryFolder();
        folder.Write(file, content);
        var service = new MailService { Templates = folder.Path };
        if (refused is null)
        {
            Assert.Equal(
                "Hello ann@example.com: Adobe & Söhne (adobe.com)\n", new MailComposer("a@b.example", service).Read(Person, Full).Text);
            return;
        }
        var error = Assert.Throws<BadInputException>(() => new MailComposer("a@b.example", service));
        Assert.Contains(refused, error.Message, StringComparison.Ordinal);
        Assert.StartsWith("HIBP_TEMPLATES", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Invalid_service_setting_is_refused_by_its_variable_name()
    {
        foreach (var (service, variable) in new[]
        {
            (new MailService { Name = "a\nb" }, "HIBP_SERVICE_NAME"), (new MailService { Contact = "http://x" }, "HIBP_SERVICE_CONTACT"),
            (new MailService { Logo = "http://x/logo.png" }, "HIBP_SERVICE_LOGO"),
            (new MailService { Unsubscribe = "https://x.example" }, "HIBP_UNSUBSCRIBE_MAILTO"),
            (new MailService { Unsubscribe = "mailto:a@b.example>\r\nX: y" }, "HIBP_UNSUBSCRIBE_MAILTO"),
            (new MailService { Unsubscribe = "nobody" }, "HIBP_UNSUBSCRIBE_MAILTO"),
        })
        {
            Assert.StartsWith(variable, Assert.Throws<BadInputException>(service.Check).Message, StringComparison.Ordinal);
        }
        Assert.Contains(
            "HIBP_SERVICE_LOGO",
            Assert.Throws<BadInputException>(() => new MailComposer("a@b.example", new MailService { Logo = "/nowhere/logo.png" })).Message,
            StringComparison.Ordinal);
        Assert.Equal("mailto:a@b.example", new MailService { Unsubscribe = "a@b.example" }.Check().UnsubscribeLink);
    }

    [Theory]
    [InlineData("Email addresses", false, "")]
    [InlineData("Passwords", true, "")]
    [InlineData("Password hints", true, "")]
    [InlineData("Phone numbers", false, "fraudulent calls")]
    [InlineData("Credit cards", false, "statements")]
    [InlineData("Security questions and answers", false, "security questions")]
    [InlineData("Government issued IDs", false, "in your name")]
    public void Advice_depends_on_the_exposed_data_classes(string lost, bool passwords, string says)
    {
        var breach = Full with { Metadata = Full.Metadata with { DataClasses = ["Email addresses", lost] } };
        foreach (var notification in new[] { Person, Company })
        {
            var text = TextOf(notification, breach);
            Assert.Equal(passwords, text.Contains("hange your password", StringComparison.Ordinal)
                || text.Contains("change their password", StringComparison.Ordinal));
            Assert.Equal(!passwords, text.Contains("No password is known to be in this data", StringComparison.Ordinal));
        }
        Assert.Contains(says, TextOf(Person, breach), StringComparison.Ordinal);
    }

    private static OutgoingMail Compose(
        Notification notification, Breach breach, IReadOnlyList<string>? accounts = null, bool complete = true) =>
        new MailComposer("\"Breach \\\"notices\\\"\" <notices@hibp.test>").Compose(notification, breach, accounts, complete, Date);

    private static (string? Name, string Address) From(MimeMessage message)
    {
        var sender = Assert.Single(message.From.Mailboxes);
        return (sender.Name, sender.Address);
    }

    private static Breach Flagged(BreachFlags flags) => Full with { Metadata = Full.Metadata with { Flags = flags } };

    /// <summary>Returns a breach with this text in every field that a mail shows.</summary>
    private static Breach Saying(string text) =>
        Full with { Metadata = Full.Metadata with { Title = text, Domain = text, Description = text, DataClasses = [text] } };

    private static string TextOf(Notification notification, Breach breach, IReadOnlyList<string>? accounts = null) =>
        Unwrap(MailReader.Read(Compose(notification, breach, accounts).Content).Leaves[0].Text);

    private static void AssertContains(string text, string[] words, string[] without)
    {
        Assert.All(words, word => Assert.Contains(word, text));
        Assert.All(without, word => Assert.DoesNotContain(word, text));
    }

    // Joins the lines of each paragraph, so that line breaks don't matter.
    private static string Unwrap(string text) =>
        string.Join(
            "\n\n", text.ReplaceLineEndings("\n")
            .Split("\n\n").Select(
                paragraph =>
                    paragraph.Length > 70 && !paragraph.Contains("Site:") ? paragraph.Replace("\n  ", " ").Replace("\n", " ") : paragraph));
}
