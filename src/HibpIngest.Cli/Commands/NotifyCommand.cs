using HibpIngest.Pipeline.Callbacks;
using HibpIngest.Pipeline.Mail;

namespace HibpIngest.Cli.Commands;

internal sealed class NotifyCommand : HibpCommand
{
    private readonly Argument<string> _breach = new("BREACH") { Description = "Name of the breach." };
    private readonly Option<bool> _dryRun = new("--dry-run") { Description = "Only show who would get what." };

    public NotifyCommand()
        : base("notify", "Release the mails and calls of a breach that are held (by --notify hold, HIBP_NOTIFY=hold or hibp hold). "
            + "What is sent can't be taken back.")
    {
        Add(_breach);
        Add(_dryRun);
        Examples =
        [
            ("hibp notify Adobe --dry-run", "who would get a mail, and about how many accounts; and how many calls clients would get"),
            ("hibp notify Adobe", "send them"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var breach = await GetBreachAsync(
            services.GetRequiredService<IBreachDatabase>(), session.Parsed.GetRequiredValue(_breach), cancellationToken);
        var operations = services.GetRequiredService<MailOperations>();
        if (session.Parsed.GetValue(_dryRun))
        {
            var lines = new List<PreviewLine>();
            await foreach (var notification in operations.PreviewAsync(breach.Name, cancellationToken))
                lines.Add(new PreviewLine(notification.Email, notification.Domain, notification.Accounts));
            session.Screen.Say("looking through the accounts for what clients watch");
            var calls = await services.GetRequiredService<PreviewCalls>().RunAsync(breach.Name, cancellationToken);
            if (session.Screen.Json)
            {
                session.Screen.ShowJson(
                    new PreviewDocument(breach.Name, lines)
                    {
                        Calls = [.. calls.Select(one => new PreviewCallsLine(
                            one.Client.Name, one.Calls, one.IsExact, one.Client.Cap, one.Duration.TotalSeconds))],
                    },
                    Documents.Default.PreviewDocument);
            }
            else
            {
                Show(session.Screen, lines);
                Show(session.Screen, calls);
            }
            return 0;
        }
        var released = await operations.NotifyAsync(breach.Name, cancellationToken);
        session.Screen.ShowResult(
            new NotifyDocument(breach.Name, released), Documents.Default.NotifyDocument,
            $"{TableFormat.Number(released)} mails of {breach.Name} are on their way.");
        return 0;
    }

    private static void Show(Screen screen, IReadOnlyList<CallEstimate> calls)
    {
        if (calls.Count == 0)
            return;
        var table = TableFormat.Create("client", "calls", "at once", "a call", "takes");
        foreach (var column in (int[])[1, 2, 3, 4])
            table.Columns[column].RightAligned();
        foreach (var one in calls)
        {
            table.AddRow(
                new Text(one.Client.Name + (one.Client.IsPaused ? " (paused)" : "")),
                new Text($"{(one.IsExact ? "" : "about ")}{TableFormat.Number(one.Calls)}"), new Text(TableFormat.Number(one.Client.Cap)),
                new Text($"{one.CallTime.TotalMilliseconds:N0} ms"), new Text(TableFormat.Duration(one.Duration)));
        }
        screen.Show(table);
        screen.Show($"{TableFormat.Number(calls.Sum(one => one.Calls))} calls would be made, {TableFormat.Number(calls.Count)} clients "
            + "beside each other.");
    }

    private static void Show(Screen screen, List<PreviewLine> lines)
    {
        if (lines.Count > 0)
        {
            var table = TableFormat.Create("subscriber", "told about", "accounts");
            table.Columns[2].RightAligned();
            foreach (var line in lines)
                table.AddRow(
                    new Text(line.Email), new Text(line.Domain is null ? "their own address" : $"domain {line.Domain}"),
                    new Text(TableFormat.Number(line.Accounts)));
            screen.Show(table);
        }
        screen.Show($"{TableFormat.Number(lines.Count)} mails would be sent.");
    }
}
