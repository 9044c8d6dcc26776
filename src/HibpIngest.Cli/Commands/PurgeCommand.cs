using HibpIngest.Pipeline.Recovery;

namespace HibpIngest.Cli.Commands;

internal sealed class PurgeCommand : HibpCommand
{
    private readonly Argument<long?> _load =
        new("LOAD") { Description = "Number of the load, as hibp status shows it.", Arity = ArgumentArity.ZeroOrOne };
    private readonly Option<int?> _olderThan = new("--older-than")
    {
        Description = "All loads that were finished so many days ago, or earlier.",
        HelpName = "DAYS"
    };

    private readonly Option<bool> _withoutLog = new("--without-log")
    {
        Description = "Where there is no account log (HIBP_JOURNAL=off): purge all the same."
    };

    public PurgeCommand()
        : base("purge", "Take the rows of finished loads out of the database. Their accounts stay searchable. What the account log has of "
            + "them is read back before: every block of it, and their number.")
    {
        Add(_load);
        Add(_olderThan);
        Add(_withoutLog);
        RequireOneOf(_load, _olderThan);
        _olderThan.Validators.Add(result =>
        {
            if (result.Tokens is [var token] && int.TryParse(token.Value, out var days) && days < 0)
                result.AddError("--older-than takes 0 days or more");
        });
        Examples =
        [
            ("hibp purge 7", "the rows of load 7"),
            ("hibp purge --older-than 30", "those of every load finished 30 days ago or earlier"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var operations = services.GetRequiredService<LoadOperations>();
        var purged = new List<PurgedLoad>();
        foreach (var load in await ChooseAsync(session, services.GetRequiredService<IBreachDatabase>(), cancellationToken))
        {
            var rows = await ProgressSpinner.ShowAsync(
                session.Screen, $"load {load.Id}: rows purged",
                progress => operations.PurgeAsync(load.Id, session.Parsed.GetValue(_withoutLog), progress, cancellationToken));
            purged.Add(new PurgedLoad(load.Id, load.Breach, rows));
            if (!session.Screen.Json)
                session.Screen.Show($"Load {load.Id} of {load.Breach}: {TableFormat.Number(rows)} rows are gone.");
        }
        if (session.Screen.Json)
            session.Screen.ShowJson(new PurgeDocument(purged), Documents.Default.PurgeDocument);
        else if (purged.Count == 0)
            session.Screen.Show("There is nothing to purge.");
        return 0;
    }

    private async Task<IReadOnlyList<Load>> ChooseAsync(CommandSession session, ILoads loads, CancellationToken cancellationToken)
    {
        if (session.Parsed.GetValue(_olderThan) is not { } days)
        {
            var load = session.Parsed.GetValue(_load) ?? 0;
            return [await loads.GetLoadAsync(load, cancellationToken)
                ?? throw new NotPossibleException($"there is no load {load}; hibp status lists those there are")];
        }
        var before = session.Time.GetUtcNow() - TimeSpan.FromDays(days);
        return [.. (await loads.ListLoadsAsync(null, cancellationToken)).Where(
            load => load is { State: LoadState.Done or LoadState.Failed, Purged: false, Removing: false } && load.FinishedAt <= before)];
    }
}
