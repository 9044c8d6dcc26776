using HibpIngest.Pipeline.Mail;

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
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var breach = await GetBreachAsync(
            services.GetRequiredService<IBreachDatabase>(), session.Parsed.GetRequiredValue(_breach), cancellationToken);
        var waiting = await services.GetRequiredService<MailOperations>().HoldAsync(breach.Name, cancellationToken);
        session.Screen.ShowResult(
            new NotifyDocument(breach.Name, waiting), Documents.Default.NotifyDocument,
            $"{TableFormat.Number(waiting)} mails of {breach.Name} wait for: hibp notify {breach.Name}");
        return 0;
    }
}
