namespace HibpIngest.Cli.Commands;

internal sealed class SlicesCommand : HibpCommand
{
    private readonly Argument<string> _breach = new("BREACH") { Description = "Name of the breach." };
    private readonly Option<bool> _failed = new("--failed") { Description = "Only those that have used up their tries." };

    public SlicesCommand()
        : base("slices", "List the slices of a breach: what has been upserted, what is waiting, what failed and why.")
    {
        Add(_breach);
        Add(_failed);
        Examples = [("hibp slices Adobe --failed", "what went wrong, slice by slice; hibp requeue Adobe --failed tries again")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = await session.OpenExistingDatabaseAsync(cancellationToken);
        var breach = await GetBreachAsync(database, session.Parsed.GetRequiredValue(_breach), cancellationToken);
        var slices = new List<Breaches.Slice>();
        foreach (var load in await database.ListLoadsAsync(breach.Name, cancellationToken))
            slices.AddRange(await database.ListSlicesAsync(load.Id, session.Parsed.GetValue(_failed), cancellationToken));
        if (session.Screen.Json)
        {
            session.Screen.ShowJson(
                new SliceListDocument(breach.Name, [.. slices.Select(slice => new SliceDocument(
                    slice.Load, slice.Number, slice.First, slice.Last, slice.Count, slice.State.ToString()
                    .ToLowerInvariant(), slice.Attempts, slice.Error, slice.QueuedAt, slice.DoneAt))]),
                Documents.Default.SliceListDocument);
            return 0;
        }
        if (slices.Count == 0)
        {
            session.Screen.Show(session.Parsed.GetValue(_failed) ? "No slice has failed." : "There is no slice yet.");
            return 0;
        }
        var table = TableFormat.Create("load", "slice", "positions", "accounts", "state", "tries", "queued", "done", "error");
        foreach (var number in (int[])[0, 1, 3, 5])
            table.Columns[number].RightAligned();
        foreach (var slice in slices)
        {
            table.AddRow(
                new Text(TableFormat.Number(slice.Load)), new Text(TableFormat.Number(slice.Number)),
                new Text($"{TableFormat.Number(slice.First)} - {TableFormat.Number(slice.Last)}"),
                new Text(TableFormat.Number(slice.Count)), new Text(slice.State.ToString().ToLowerInvariant()),
                new Text(TableFormat.Number(slice.Attempts)),
                new Text(TableFormat.Moment(slice.QueuedAt)), new Text(TableFormat.Moment(slice.DoneAt)), new Text(slice.Error ?? ""));
        }
        session.Screen.Show(table);
        return 0;
    }
}
