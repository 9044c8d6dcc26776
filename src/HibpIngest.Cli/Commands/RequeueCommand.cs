using HibpIngest.Pipeline.Recovery;

namespace HibpIngest.Cli.Commands;

internal sealed class RequeueCommand : HibpCommand
{
    private readonly Argument<string> _breach = new("BREACH") { Description = "Name of the breach." };
    private readonly Option<int?> _slice = new("--slice") { Description = "One slice of the newest load.", HelpName = "N" };
    private readonly Option<bool> _failed = new("--failed") { Description = "All that have used up their tries." };
    private readonly Option<bool> _all = new("--all") { Description = "All, of every load whose rows are still there." };

    public RequeueCommand()
        : base("requeue", "Send slices of a breach to be upserted again. Upserting twice changes nothing.")
    {
        Add(_breach);
        Add(_slice);
        Add(_failed);
        Add(_all);
        RequireOneOf(_slice, _failed, _all);
        Examples =
        [
            ("hibp requeue Adobe --failed", "retry what failed, once the cause is fixed"),
            ("hibp requeue Adobe --all", "write every account again, as after the table was lost"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var breach = await GetBreachAsync(
            services.GetRequiredService<IBreachDatabase>(), session.Parsed.GetRequiredValue(_breach), cancellationToken);
        var requeued = await services.GetRequiredService<LoadOperations>().RequeueSlicesAsync(
            breach.Name, session.Parsed.GetValue(_slice), session.Parsed.GetValue(_failed), cancellationToken);
        session.Screen.ShowResult(
            new RequeueDocument(breach.Name, requeued), Documents.Default.RequeueDocument,
            $"{TableFormat.Number(requeued)} slices of {breach.Name} are queued again.");
        return 0;
    }
}
