using HibpIngest.Pipeline.Recovery;
using HibpIngest.Storage.Sql;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Cli.Commands;

internal sealed class DatabaseCommands()
    : CommandGroup("database", "Look after the database.", new DatabaseUpgradeCommand(), new DatabaseRestoredCommand());

internal sealed class DatabaseUpgradeCommand : HibpCommand
{
    public DatabaseUpgradeCommand()
        : base("upgrade", "Bring the database's schema up to this program's version. A fresh database gets it by itself; make a copy of "
            + "an old one first.")
    {
        Examples = [("hibp database upgrade", "after a new version of the program was installed")];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = DatabaseServices.Open(session.Settings.Database, session.Time, session.Logs);
        var (from, _) = await database.GetSchemaVersionAsync(cancellationToken);
        await database.UpgradeAsync(cancellationToken);
        var (to, _) = await database.GetSchemaVersionAsync(cancellationToken);
        session.Screen.ShowResult(
            new UpgradeDocument(database.DisplayName, from, to), Documents.Default.UpgradeDocument,
            from == to ? $"The schema of {database.DisplayName} is at version {to} already."
            : $"The schema of {database.DisplayName} went from version {from} to {to}.");
        return 0;
    }
}

internal sealed class DatabaseRestoredCommand : HibpCommand
{
    private readonly Option<bool> _empty = new("--empty")
    {
        Description = "The database was lost, and the one that is named is empty: it becomes that of the store whose account log is "
            + "there. Refused where it has loads, or is of another store.",
    };

    public DatabaseRestoredCommand()
        : base("restored", "Move a database on that was restored from a backup: ids given since are never given again; what the account "
            + "log tells (loads that were published, described, hidden, replaced or removed since) is known again, and told to nobody; "
            + "files dropped since that were never published are loaded again, neither published nor mailed until 'hibp notify'. What "
            + "readers were shown decides what is hidden, sensitive or retired. With every host stopped.")
    {
        Add(_empty);
        Examples =
        [
            ("hibp database restored", "with every host stopped; then start them, look at hibp status, and release by hibp notify what was "
                + "not sent before"),
            ("hibp database restored --empty", "where there is no backup: all that was published comes back from the account log; bring "
                + "subscribers in by hibp subscribers import"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var emulators = await RunCommand.StartEmulatorsAsync(session, accounts: null, cancellationToken);
        await using var services = await session.OpenStorageAsync(cancellationToken);
        var (document, moved, files) = await MoveOnAsync(session, services, session.Parsed.GetValue(_empty), cancellationToken);
        if (session.Screen.Json)
            session.Screen.ShowJson(document, Documents.Default.RestoredDocument);
        else
            Show(session.Screen, document, moved, files);
        return SayProblems(session.Screen, moved);
    }

    /// <summary>Moves the restored database on, and shows the progress.</summary>
    /// <returns>The result, and the names of the files that are loaded again.</returns>
    public static async Task<(RestoredDocument Document, ReconciledDatabase Moved, IReadOnlyList<string> Files)> MoveOnAsync(
        CommandSession session, ServiceProvider services, bool empty, CancellationToken cancellationToken)
    {
        // Repeating a removal takes minutes: each breach that returns or is removed is logged at once.
        session.PipelineLevel = LogLevel.Information;
        var database = services.GetRequiredService<IBreachDatabase>();
        ReconciledDatabase? moved = null;
        await ProgressSpinner.ShowAsync(session.Screen, "loads of the account log", async progress =>
        {
            moved = await services.GetRequiredService<ReconcileRestoredDatabase>().RunAsync(
                cancellationToken, empty, new LoadProgress(session, progress));
            return moved.Loads;
        });
        // The new loads have ids above all that were assigned before.
        var files = (await database.ListLoadsAsync(null, cancellationToken)).Where(load => load.Id > moved!.Ids.Load)
            .Select(load => load.Blob.Name).Order(StringComparer.Ordinal).ToList();
        var subscriptions = 0L;
        await foreach (var _ in database.ListSubscribersAsync(cancellationToken))
            subscriptions++;
        return (
            new RestoredDocument(
                database.DisplayName, moved!.Ids.Load, moved.Ids.Mark, moved.Loads, subscriptions, moved.Missing, moved.Log,
                moved.Suppressed, moved.Hidden),
            moved, files);
    }

    /// <summary>Reports the account log's entries that can't be used; returns the exit code.</summary>
    public static int SayProblems(Screen screen, ReconciledDatabase moved)
    {
        foreach (var problem in moved.Log?.Problems ?? [])
            screen.Say(problem);
        return moved.Log is { Problems.Count: > 0 } ? 1 : 0;
    }

    public static void Show(Screen screen, RestoredDocument document, ReconciledDatabase moved, IReadOnlyList<string> files)
    {
        screen.Show($"{document.Database} goes on behind load {moved.Ids.Load} and mark {moved.Ids.Mark}; {moved.Loads} files that have no "
            + "load in it are loaded again. Loads that were not published at the backup stay unpublished until 'hibp notify'; mails that "
            + "were not out are held: some may have gone out since.");
        if (files.Count > 0)
            screen.Show($"Loaded again: {string.Join(", ", files)}.");
        if (moved.Log is not { } log)
            screen.Show("Without the account log, breaches are as at the backup and as readers had them: loads that were replaced or given "
                + "to another breach since count as at the backup.");
        else
        {
            screen.Show($"From the account log: {log.Loads.Count} loads came back, without a word to anybody; of {log.Told.Count} other "
                + $"breaches something newer is known; {log.Removed.Count} were removed again.");
            foreach (var load in log.Loads)
            {
                screen.Show($"  load {load.Load} of {load.Breach}: {TableFormat.Number(load.Rows)} rows"
                    + (load.Counts ? "" : ", replaced by a later one"));
            }
            if (log.Removed.Count > 0)
                screen.Show($"Removed again: {string.Join(", ", log.Removed)}.");
            if (log.Hidden.Count > 0)
            {
                screen.Show($"Hidden, as no document says that they may be shown: {string.Join(", ", log.Hidden)}. Look at each, then: "
                    + "hibp breach show");
            }
            if (log.Begun.Count > 0)
                screen.Show($"Not published, and so not back: {log.Begun.Count} folders ({string.Join(", ", log.Begun)}).");
        }
        if (moved.Hidden.Count > 0)
        {
            screen.Show($"Hidden, as readers were not shown them before the restore: {string.Join(", ", moved.Hidden)}. Look at each, "
                + "then: hibp breach show");
        }
        if (moved.Missing > 0)
        {
            screen.Show($"The tables lack {TableFormat.Number(moved.Missing)} rows: 'hibp rebuild --into 1' writes them from the account "
                + "log, then 'hibp ranges fill', before any reader is started.");
        }
        if (moved.Suppressed > 0)
        {
            screen.Show($"{TableFormat.Number(moved.Suppressed)} suppressions that the backup did not have were applied: those addresses "
                + "are subscribed no more, and their mails are gone.");
        }
        screen.Show($"{TableFormat.Number(document.Subscriptions)} subscriptions are in the database; the account log has none: hibp "
            + "subscribers import brings them in.");
    }

    /// <summary>Shows a count on a terminal, and a line every few seconds otherwise.</summary>
    private sealed class LoadProgress(CommandSession session, IProgress<long> count) : IProgress<(int Done, int All)>
    {
        // Often enough to show progress, seldom enough for a log file.
        private static readonly TimeSpan LineEvery = TimeSpan.FromSeconds(5);

        private long _last = session.Time.GetTimestamp();

        public void Report((int Done, int All) value)
        {
            count.Report(value.Done);
            if (session.Screen.IsLive || (value.Done < value.All && session.Time.GetElapsedTime(_last) < LineEvery))
                return;
            _last = session.Time.GetTimestamp();
            session.Screen.Say($"loads of the account log: {value.Done} of {value.All}");
        }
    }
}
