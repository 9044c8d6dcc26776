using System.CommandLine;
using HibpIngest.Cli.Output;
using HibpIngest.Pipeline;
using Spectre.Console;

namespace HibpIngest.Cli.Commands;

internal sealed class NotifyCommand : HibpCommand
{
    private readonly Argument<string> _breach = new("BREACH") { Description = "Name of the breach." };
    private readonly Option<bool> _dryRun = new("--dry-run") { Description = "Only show who would get what." };

    public NotifyCommand()
        : base("notify", "Release the mails of a breach that are held (by --notify hold, HIBP_NOTIFY=hold or hibp hold). A mail can't be "
            + "called back.")
    {
        Add(_breach);
        Add(_dryRun);
        Examples =
        [
            ("hibp notify Adobe --dry-run", "who would get a mail, and about how many accounts"),
            ("hibp notify Adobe", "send them"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var pipeline = await session.OpenExistingAsync(cancellationToken);
        var breach = await GetBreachAsync(pipeline.Context.Database, session.Parsed.GetRequiredValue(_breach), cancellationToken);
        var operations = pipeline.Context.NewMailOperations();
        if (session.Parsed.GetValue(_dryRun))
        {
            var lines = new List<PreviewLine>();
            await foreach (var notification in operations.PreviewAsync(breach.Name, cancellationToken))
                lines.Add(new PreviewLine(notification.Email, notification.Domain, notification.Accounts));
            if (session.Screen.Json)
                session.Screen.ShowJson(new PreviewDocument(breach.Name, lines), Documents.Default.PreviewDocument);
            else
                Show(session.Screen, lines);
            return 0;
        }
        var released = await operations.NotifyAsync(breach.Name, cancellationToken);
        if (session.Screen.Json)
            session.Screen.ShowJson(new NotifyDocument(breach.Name, released), Documents.Default.NotifyDocument);
        else
            session.Screen.Show($"{TableFormat.Number(released)} notifications of {breach.Name} are on their way.");
        return 0;
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
        screen.Show($"{TableFormat.Number(lines.Count)} notifications would be sent.");
    }
}
