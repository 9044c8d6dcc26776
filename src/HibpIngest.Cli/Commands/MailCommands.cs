using System.CommandLine;
using HibpIngest.Breaches;
using HibpIngest.Cli.Output;
using HibpIngest.Delivery;
using HibpIngest.Pipeline;

namespace HibpIngest.Cli.Commands;

internal sealed class MailCommands() : CommandGroup(
    "mail", "See what a mail says, and whether mails arrive.", new MailPreviewCommand(), new MailTestCommand());

internal sealed class MailPreviewCommand : HibpCommand
{
    // Of whom it would be: RFC 2606 keeps this domain for examples.
    private const string Nobody = "somebody@example.com";
    private const long AccountsOfDomain = 42;

    private readonly Argument<string> _breach = new("BREACH") { Description = "Name of the breach." };
    private readonly Option<string?> _domain = new("--domain")
    {
        Description = "The mail of who watches this domain, instead of a person's.",
        HelpName = "DOMAIN",
    };
    private readonly Option<bool> _html = new("--html") { Description = "As HTML, to be opened in a browser." };

    public MailPreviewCommand()
        : base("preview", "Show the mail of a breach as somebody would get it. Nothing is sent.")
    {
        Add(_breach);
        Add(_domain);
        Add(_html);
        Examples =
        [
            ("hibp mail preview Adobe", "what a person is told"),
            ("hibp mail preview Adobe --domain contoso.example --html", "what the owner of a domain is told, for a browser"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = await session.OpenExistingDatabaseAsync(cancellationToken);
        var breach = await GetBreachAsync(database, session.Parsed.GetRequiredValue(_breach), cancellationToken);
        var domain = session.Parsed.GetValue(_domain)?.Trim().ToLowerInvariant();
        var mail = MailComposer.Read(
            new Notification
            {
                Id = 0,
                Number = 1,
                Email = Nobody,
                Domain = domain,
                Accounts = domain is null ? 1 : AccountsOfDomain,
            },
            breach);
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(
                new MailDocument(breach.Name, session.Settings.Options.MailFrom, mail.Subject, mail.Text, mail.Html),
                Documents.Default.MailDocument);
        }
        else if (session.Parsed.GetValue(_html))
        {
            session.Screen.Show(mail.Html);
        }
        else
        {
            session.Screen.Show($"From: {session.Settings.Options.MailFrom}");
            session.Screen.Show($"Subject: {mail.Subject}");
            session.Screen.Show("");
            session.Screen.Show(mail.Text);
        }
        return 0;
    }
}

internal sealed class MailTestCommand : HibpCommand
{
    private readonly Argument<string> _address = new("ADDRESS") { Description = "Who gets it." };

    public MailTestCommand()
        : base("test", "Send one mail by HIBP_MAIL, to see that mails arrive.")
    {
        Add(_address);
        Examples = [("hibp mail test me@example.com", "then look whether it came, and not among the unwanted")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var composer = new MailComposer(session.Settings.Options.MailFrom);
        var mail = composer.ComposeTest(session.Parsed.GetRequiredValue(_address).Trim(), session.Time.GetUtcNow());
        await using var sender = NotificationSenders.Create(session.Settings.Mail, session.Time);
        await sender.SendAsync(mail, cancellationToken);
        if (session.Screen.Json)
            session.Screen.ShowJson(new MailTestDocument(sender.DisplayName), Documents.Default.MailTestDocument);
        else
            session.Screen.Show($"A test mail was handed on: {sender.DisplayName}.");
        return 0;
    }
}
