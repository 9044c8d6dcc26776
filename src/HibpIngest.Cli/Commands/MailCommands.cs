using HibpIngest.Delivery;
using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Mail;

namespace HibpIngest.Cli.Commands;

internal sealed class MailPreviewCommand : HibpCommand
{
    // The recipient of the preview: RFC 2606 reserves this domain for examples.
    private const string Nobody = "somebody@example.com";
    private const long AccountsOfDomain = 42;

    private readonly Argument<string> _breach = NewBreachArgument();
    private readonly Option<string?> _domain =
        new("--domain") { Description = "Show the mail to a subscriber of this domain instead of a person's.", HelpName = "DOMAIN" };
    private readonly Option<bool> _html = new("--html") { Description = "Show the HTML version." };

    public MailPreviewCommand()
        : base("preview", "Show the mail of a breach. Nothing is sent.")
    {
        Add(_breach, _domain, _html);
        AddExamples(
            ("hibp mail preview Adobe", "the mail to a person"),
            ("hibp mail preview Adobe --domain contoso.example --html", "the mail to the owner of a domain, for a browser"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var composer = session.Settings.CreateMailComposer();
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
        var from = session.Settings.Get<MailOptions>().MailFrom;
        session.Screen.ShowResult(new MailDocument(breach.Name, from, mail.Subject, mail.Text, mail.Html),
            session.Parsed.GetValue(_html) ? mail.Html
            : string.Join(Environment.NewLine, $"From: {from}", $"Subject: {mail.Subject}", "", mail.Text));
    }
}

internal sealed class MailTestCommand : HibpCommand
{
    private readonly Argument<string> _address = new("ADDRESS") { Description = "Recipient." };

    public MailTestCommand()
        : base("test", "Send a test mail the way HIBP_MAIL configures.")
    {
        Add(_address);
        AddExamples(("hibp mail test me@example.com", "then check that it arrived, and not in the spam folder"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var composer = session.Settings.CreateMailComposer();
        var mail = composer.ComposeTest(session.Parsed.GetRequiredValue(_address).Trim(), session.Time.GetUtcNow());
        await using var sender = NotificationSenders.Create(session.Settings.Mail, session.Time);
        await sender.SendAsync(mail, cancellationToken);
        session.Screen.ShowResult(new MailTestDocument(sender.DisplayName), $"A test mail was sent to: {sender.DisplayName}.");
    }
}

internal sealed class MailRefusedCommand : HibpCommand
{
    // Read in chunks, to bound the size of a query.
    private const int Chunk = 10_000;

    private readonly Argument<string> _breach = NewBreachArgument();

    public MailRefusedCommand()
        : base("refused", "List the permanently refused mails of a breach, and why they were refused. They are not sent again.")
    {
        Add(_breach);
        AddExamples(("hibp mail refused Adobe", "lists refused recipients, with the reasons"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
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
                    .Where(mail => mail.IsRefused).Select(mail => new RefusedMail(load.Id.Value, mail.Email, mail.Domain, mail.Error)));
            }
        }
        if (session.Screen.TryShowJson(() => new RefusedDocument(breach.Name, refused)))
            return;
        var table = TableFormat.Create("subscriber", "notified about", "load", "refused because").AlignRight(2).AddRows(refused, mail =>
        [
            mail.Email, mail.Domain is null ? "own address" : $"domain {mail.Domain}", TableFormat.Number(mail.Load),
            mail.Reason ?? "",
        ]);
        session.Screen.Show(table, ifEmpty: $"No mail of {breach.Name} was refused.");
    }
}

internal sealed class MailHoldCommand : HibpCommand
{
    private readonly Argument<string> _breach = NewBreachArgument();

    public MailHoldCommand()
        : base("hold", "Hold the mails and callbacks of a breach until 'hibp mail release'. A mail that is being sent is still delivered.")
    {
        Add(_breach);
        AddExamples(("hibp mail hold Adobe", "stops its mails at once"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var breach = await GetBreachAsync(services, session.Parsed.GetRequiredValue(_breach), cancellationToken);
        var waiting = await services.GetRequiredService<MailOperations>().HoldAsync(breach.Name, cancellationToken);
        session.Screen.ShowResult(new NotifyDocument(breach.Name, waiting),
            $"{TableFormat.Number(waiting)} mails of {breach.Name} wait for: hibp mail release {breach.Name}");
    }
}

internal sealed class MailReleaseCommand : HibpCommand
{
    private readonly Argument<string> _breach = NewBreachArgument();
    private readonly Option<bool> _dryRun = new("--dry-run") { Description = "Only list what would be sent." };

    public MailReleaseCommand()
        : base("release", "Send the held mails and callbacks of a breach (held by --notify hold, HIBP_NOTIFY=hold or 'hibp mail hold'). "
            + "Sent mails can't be recalled.")
    {
        Add(_breach, _dryRun);
        AddExamples(
            ("hibp mail release Adobe --dry-run", "lists the recipients who have not been notified, and the estimated number of "
                + "callbacks to each client"),
            ("hibp mail release Adobe", "sends them"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var breach = await GetBreachAsync(services, session.Parsed.GetRequiredValue(_breach), cancellationToken);
        var operations = services.GetRequiredService<MailOperations>();
        if (session.Parsed.GetValue(_dryRun))
        {
            var lines = await operations.PreviewAsync(breach.Name, cancellationToken)
                .Select(one => new PreviewLine(one.Email, one.Domain, one.Accounts)).ToListAsync(cancellationToken);
            session.Screen.Say("counting the accounts that clients watch");
            var calls = await services.GetRequiredService<PreviewCalls>().RunAsync(breach.Name, cancellationToken);
            if (!session.Screen.TryShowJson(() => new PreviewDocument(breach.Name, lines)
            {
                Calls = [.. calls.Select(one => new PreviewCallsLine(
                        one.Client.Name, one.Calls, one.IsExact, one.Client.Cap, one.Duration.TotalSeconds))],
            }))
            {
                Show(session.Screen, lines);
                Show(session.Screen, calls);
            }
            return;
        }
        var released = await operations.NotifyAsync(breach.Name, cancellationToken);
        session.Screen.ShowResult(new NotifyDocument(breach.Name, released),
            $"{TableFormat.Number(released)} mails of {breach.Name} are on their way.");
    }

    private static void Show(Screen screen, IReadOnlyList<CallEstimate> calls)
    {
        if (calls.Count == 0)
            return;
        var table = TableFormat.Create("client", "calls", "at once", "a call", "takes").AlignRight(1, 2, 3, 4).AddRows(calls, one =>
        [
            one.Client.Name + (one.Client.IsPaused ? " (paused)" : ""),
            $"{(one.IsExact ? "" : "about ")}{TableFormat.Number(one.Calls)}", TableFormat.Number(one.Client.Cap),
            $"{one.CallTime.TotalMilliseconds:N0} ms", TableFormat.Duration(one.Duration),
        ]);
        screen.Show(table);
        screen.Show($"{TableFormat.Number(calls.Sum(one => one.Calls))} calls would be made, to {TableFormat.Number(calls.Count)} clients "
            + "concurrently.");
    }

    private static void Show(Screen screen, List<PreviewLine> lines)
    {
        if (lines.Count > 0)
        {
            var table = TableFormat.Create("subscriber", "notified about", "accounts").AlignRight(2).AddRows(lines, line =>
            [
                line.Email, line.Domain is null ? "own address" : $"domain {line.Domain}", TableFormat.Number(line.Accounts),
            ]);
            screen.Show(table);
        }
        screen.Show($"{TableFormat.Number(lines.Count)} mails would be sent.");
    }
}
