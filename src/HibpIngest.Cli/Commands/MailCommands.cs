using HibpIngest.Delivery;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Settings;

namespace HibpIngest.Cli.Commands;

internal sealed class MailCommands() : CommandGroup(
    "mail", "See what a mail says, and whether mails arrive.", new MailPreviewCommand(), new MailTestCommand(),
    new MailRefusedCommand());

internal sealed class MailPreviewCommand : HibpCommand
{
    // The recipient of the preview: RFC 2606 reserves this domain for examples.
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
        var composer = new MailComposer(session.Settings.Get<MailOptions>().MailFrom, session.Settings.Service);
        await using var database = await session.OpenExistingDatabaseAsync(cancellationToken);
        var breach = await GetBreachAsync(database, session.Parsed.GetRequiredValue(_breach), cancellationToken);
        var domain = session.Parsed.GetValue(_domain)?.Trim().ToLowerInvariant();
        var mail = composer.Read(
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
                new MailDocument(breach.Name, session.Settings.Get<MailOptions>().MailFrom, mail.Subject, mail.Text, mail.Html),
                Documents.Default.MailDocument);
        }
        else if (session.Parsed.GetValue(_html))
        {
            session.Screen.Show(mail.Html);
        }
        else
        {
            session.Screen.Show($"From: {session.Settings.Get<MailOptions>().MailFrom}");
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
        var composer = new MailComposer(session.Settings.Get<MailOptions>().MailFrom, session.Settings.Service);
        var mail = composer.ComposeTest(session.Parsed.GetRequiredValue(_address).Trim(), session.Time.GetUtcNow());
        await using var sender = NotificationSenders.Create(session.Settings.Mail, session.Time);
        await sender.SendAsync(mail, cancellationToken);
        session.Screen.ShowResult(
            new MailTestDocument(sender.DisplayName), Documents.Default.MailTestDocument,
            $"A test mail was handed on: {sender.DisplayName}.");
        return 0;
    }
}

internal sealed class MailRefusedCommand : HibpCommand
{
    // Read in chunks, to bound the size of a query.
    private const int Chunk = 10_000;

    private readonly Argument<string> _breach = new("BREACH") { Description = "Name of the breach." };

    public MailRefusedCommand()
        : base("refused", "List the mails of a breach that were refused for good, and why. None of them is sent again.")
    {
        Add(_breach);
        Examples = [("hibp mail refused Adobe", "whom no mail reached")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = await session.OpenExistingDatabaseAsync(cancellationToken);
        var breach = await GetBreachAsync(database, session.Parsed.GetRequiredValue(_breach), cancellationToken);
        var refused = new List<RefusedMail>();
        foreach (var load in (await database.ListLoadsAsync(breach.Name, cancellationToken)).Where(load => load.Notifications.Failed > 0))
        {
            var last = (await database.GetMailProgressAsync(load.Id, cancellationToken))?.Last ?? 0;
            for (var first = 1; first <= last; first += Chunk)
            {
                refused.AddRange(
                    (await database.ListNotificationsAsync(load.Id, first, first + Chunk - 1, cancellationToken))
                    .Where(mail => mail.IsRefused).Select(mail => new RefusedMail(load.Id, mail.Email, mail.Domain, mail.Error)));
            }
        }
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(new RefusedDocument(breach.Name, refused), Documents.Default.RefusedDocument);
            return 0;
        }
        if (refused.Count == 0)
        {
            session.Screen.Show($"No mail of {breach.Name} was refused.");
            return 0;
        }
        var table = TableFormat.Create("subscriber", "told about", "load", "refused because");
        table.Columns[2].RightAligned();
        foreach (var mail in refused)
        {
            table.AddRow(
                new Text(mail.Email), new Text(mail.Domain is null ? "their own address" : $"domain {mail.Domain}"),
                new Text(TableFormat.Number(mail.Load)), new Text(mail.Reason ?? ""));
        }
        session.Screen.Show(table);
        return 0;
    }
}
