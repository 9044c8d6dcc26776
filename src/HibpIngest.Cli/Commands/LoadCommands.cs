using HibpIngest.Pipeline.Recovery;

namespace HibpIngest.Cli.Commands;

internal sealed class LoadSlicesCommand : HibpCommand
{
    private readonly Argument<string> _breach = NewBreachArgument();
    private readonly Option<bool> _failed = new("--failed") { Description = "Only slices that failed." };

    public LoadSlicesCommand()
        : base("slices", "List the slices of a breach with their state, attempts and errors.")
    {
        Add(_breach, _failed);
        AddExamples(("hibp load slices Adobe --failed", "why slices failed; 'hibp load requeue Adobe --failed' retries them"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = await session.OpenExistingDatabaseAsync(cancellationToken);
        var breach = await GetBreachAsync(database, session.Parsed.GetRequiredValue(_breach), cancellationToken);
        var slices = new List<Breaches.Slice>();
        foreach (var load in await database.ListLoadsAsync(breach.Name, cancellationToken))
            slices.AddRange(await database.ListSlicesAsync(load.Id, session.Parsed.GetValue(_failed), cancellationToken));
        if (session.Screen.TryShowJson(() => new SliceListDocument(breach.Name, [.. slices.Select(slice => new SliceDocument(
            slice.Load.Value, slice.Number, slice.First, slice.Last, slice.Count, slice.State.ToString()
            .ToLowerInvariant(), slice.Attempts, slice.Error, slice.QueuedAt, slice.DoneAt))])))
            return;
        var table = TableFormat.Create("load", "slice", "positions", "accounts", "state", "tries", "queued", "done", "error")
            .AlignRight(0, 1, 3, 5);
        table.AddRows(slices, slice =>
        [
            TableFormat.Number(slice.Load.Value), TableFormat.Number(slice.Number),
            $"{TableFormat.Number(slice.First)} - {TableFormat.Number(slice.Last)}", TableFormat.Number(slice.Count),
            slice.State.ToString().ToLowerInvariant(), TableFormat.Number(slice.Attempts), TableFormat.Moment(slice.QueuedAt),
            TableFormat.Moment(slice.DoneAt), slice.Error ?? "",
        ]);
        session.Screen.Show(table, ifEmpty: session.Parsed.GetValue(_failed) ? "No slice has failed." : "There is no slice yet.");
    }
}

internal sealed class LoadRequeueCommand : HibpCommand
{
    private readonly Argument<string> _breach = NewBreachArgument();
    private readonly Option<int?> _slice = new("--slice") { Description = "One slice of the newest load.", HelpName = "N" };
    private readonly Option<bool> _failed = new("--failed") { Description = "All slices that failed." };
    private readonly Option<bool> _all = new("--all") { Description = "All slices, of every load whose rows are still in the database." };

    public LoadRequeueCommand()
        : base("requeue", "Requeue slices of a breach. Upserting a slice again changes nothing.")
    {
        Add(_breach, _slice, _failed, _all);
        RequireOneOf(_slice, _failed, _all);
        AddExamples(
            ("hibp load requeue Adobe --failed", "retries failed slices, once the cause is fixed"),
            ("hibp load requeue Adobe --all", "writes every account again, for example after the table was lost"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var breach = await GetBreachAsync(services, session.Parsed.GetRequiredValue(_breach), cancellationToken);
        var requeued = await services.GetRequiredService<RequeueSlices>().RunAsync(
            breach.Name, session.Parsed.GetValue(_slice), session.Parsed.GetValue(_failed), cancellationToken);
        session.Screen.ShowResult(new RequeueDocument(breach.Name, requeued),
            $"{TableFormat.Number(requeued)} slices of {breach.Name} are queued again.");
    }
}

internal sealed class LoadResumeCommand : HibpCommand
{
    private readonly Argument<long> _load = new("LOAD") { Description = "Number of the load, as 'hibp status' shows it." };
    private readonly Option<bool> _restart =
        new("--restart") { Description = "Read the archive from the beginning as a new load, with current settings and extractor." };
    private readonly Option<string?> _password = CommonOptions.Password();
    private readonly Option<bool> _passwordFromInput = CommonOptions.PasswordFromInput();

    public LoadResumeCommand()
        : base("resume", "Resume a failed load from its checkpoint, once the cause is fixed.")
    {
        Add(_load, _restart, _password, _passwordFromInput);
        AddExamples(
            ("hibp load resume 7", "resumes load 7 from its checkpoint"),
            ("hibp load resume 7 --restart", "starts over as a new load, for example after an upgrade of the program"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var password = await GetPasswordAsync(session, _password, _passwordFromInput, cancellationToken);
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var failed = new LoadId(session.Parsed.GetRequiredValue(_load));
        var load = await services.GetRequiredService<ResumeLoad>().RunAsync(
            failed, session.Parsed.GetValue(_restart), password, cancellationToken);
        var state = load.State.ToString().ToLowerInvariant();
        session.Screen.ShowResult(new ResumeDocument(load.Id.Value, load.Breach, state),
            load.Id == failed ? $"Load {load.Id} of {load.Breach} is resumed: {state}."
            : $"Load {failed} of {load.Breach} is restarted as load {load.Id}: {state}; hibp status {load.Breach} shows how it goes.");
    }
}
