using System.CommandLine;
using HibpIngest.Cli.Output;
using HibpIngest.Pipeline;

namespace HibpIngest.Cli.Commands;

internal sealed class HoldCommand : HibpCommand
{
    private readonly Argument<string> _breach = new("BREACH") { Description = "Name of the breach." };

    public HoldCommand()
        : base("hold", "Stop the mails of a breach: what is being sent waits, and so will what is not matched yet, until hibp notify. A "
            + "mail that is on its way goes out.")
    {
        Add(_breach);
        Examples =
        [
            ("hibp hold Adobe", "stop its mails at once"),
            ("hibp notify Adobe --dry-run", "who has not been told yet"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var pipeline = await session.OpenExistingAsync(cancellationToken);
        var breach = await GetBreachAsync(pipeline.Context.Database, session.Parsed.GetRequiredValue(_breach), cancellationToken);
        var waiting = await pipeline.Context.NewMailOperations().HoldAsync(breach.Name, cancellationToken);
        if (session.Screen.Json)
            session.Screen.ShowJson(new NotifyDocument(breach.Name, waiting), Documents.Default.NotifyDocument);
        else
            session.Screen.Show($"{TableFormat.Number(waiting)} mails of {breach.Name} wait for: hibp notify {breach.Name}");
        return 0;
    }
}
