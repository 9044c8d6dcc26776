using HibpIngest.Cli.Backups;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Storage.Sql;

namespace HibpIngest.Cli.Commands;

internal sealed class DatabaseUpgradeCommand : HibpCommand
{
    public DatabaseUpgradeCommand()
        : base("upgrade", "Upgrade the database's schema to this program's version. Back up the database first. A new database needs no "
            + "upgrade.")
    {
        AddExamples(("hibp database upgrade", "after an update of the program"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var database = DatabaseServices.Open(session.Settings.Database, session.Time, session.Logs);
        var (from, _) = await database.GetSchemaVersionAsync(cancellationToken);
        await database.UpgradeAsync(cancellationToken);
        var (to, _) = await database.GetSchemaVersionAsync(cancellationToken);
        session.Screen.ShowResult(new UpgradeDocument(database.DisplayName, from, to),
            from == to ? $"The schema of {database.DisplayName} is at version {to} already."
            : $"The schema of {database.DisplayName} went from version {from} to {to}.");
    }
}

internal sealed class DatabaseRestoredCommand : HibpCommand
{
    private readonly Option<bool> _empty = new("--empty")
    {
        Description = "The database is lost, and the given one is empty: bind it to the store of the journal. Refused if it has loads "
            + "or belongs to another store.",
    };

    public DatabaseRestoredCommand()
        : base("restored", "Bring a restored database up to date while all hosts are stopped. Recovers loads, descriptions, visibility and "
            + "removals since the backup from the journal; reserves the ids assigned since; and loads again the files dropped since. "
            + "What was not published at the backup stays unpublished, and unsent mails are held, until 'hibp mail release'. Breaches that "
            + "readers didn't see before the restore stay hidden.")
    {
        Add(_empty);
        AddExamples(
            ("hibp database restored", "with all hosts stopped; then start them, check 'hibp status', and release unsent mails with 'hibp "
                + "mail release'"),
            ("hibp database restored --empty", "without a backup: recovers all published loads from the journal; then import "
                + "subscribers with 'hibp subscribers import'"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var emulators = await RunCommand.StartEmulatorsAsync(session, accounts: null, cancellationToken);
        await using var services = await session.OpenStorageAsync(cancellationToken);
        var (document, moved, files) = await MoveOnAsync(session, services, session.Parsed.GetValue(_empty), cancellationToken);
        if (!session.Screen.TryShowJson(() => document))
            Show(session.Screen, document, moved, files);
        ExitCode = SayProblems(session.Screen, moved);
    }

    public static async Task<(RestoredDocument Document, ReconciledDatabase Moved, IReadOnlyList<string> Files)> MoveOnAsync(
        CommandSession session, ServiceProvider services, bool empty, CancellationToken cancellationToken)
    {
        // Repeating a removal takes minutes: each breach that returns or is removed is recorded at once.
        session.PipelineLevel = LogLevel.Information;
        var database = services.GetRequiredService<IBreachDatabase>();
        ReconciledDatabase? moved = null;
        var limit = new LineLimit(session.Time);
        await ProgressSpinner.ShowAsync(session.Screen, "loads of the journal", async progress =>
        {
            moved = await services.GetRequiredService<ReconcileRestoredDatabase>().RunAsync(
                cancellationToken, empty, new ImmediateProgress<(int Done, int All)>(value =>
                {
                    progress.Report(value.Done);
                    if (!session.Screen.IsLive && (value.Done == value.All || limit.IsDue()))
                        session.Screen.Say($"loads of the journal: {value.Done} of {value.All}");
                }));
            return moved.Loads;
        });
        // The new loads have ids above all that were assigned before.
        var files = (await database.ListLoadsAsync(null, cancellationToken)).Where(load => load.Id.Value > moved!.Ids.Load)
            .Select(load => load.Blob.Name).Order(StringComparer.Ordinal).ToList();
        var subscriptions = await database.ListSubscribersAsync(cancellationToken).LongCountAsync(cancellationToken);
        return (
            new RestoredDocument(
                database.DisplayName, moved!.Ids.Load, moved.Ids.Mark, moved.Loads, subscriptions, moved.Missing, moved.Log,
                moved.Suppressed, moved.Hidden),
            moved, files);
    }

    public static int SayProblems(Screen screen, ReconciledDatabase moved)
    {
        foreach (var problem in moved.Log?.Problems ?? [])
            screen.Say(problem);
        return moved.Log is { Problems.Count: > 0 } ? 1 : 0;
    }

    public static void Show(Screen screen, RestoredDocument document, ReconciledDatabase moved, IReadOnlyList<string> files)
    {
        screen.Show($"{document.Database} continues after load {moved.Ids.Load} and mark {moved.Ids.Mark}; {moved.Loads} files that have "
            + "no load in it are loaded again. Loads that were not published at the backup stay unpublished until 'hibp mail release'; "
            + "mails that were not sent are held, because some may have been sent since.");
        if (files.Count > 0)
            screen.Show($"Loaded again: {string.Join(", ", files)}.");
        if (moved.Log is not { } log)
            screen.Show("There is no journal: breaches come from the backup and from the catalogue that readers saw. Replacements and "
                + "assignments of loads since the backup are lost.");
        else
        {
            screen.Show($"From the journal: {log.Loads.Count} loads were recovered, without mails; {log.Updated.Count} other breaches "
                + $"were updated; {log.Removed.Count} were removed again.");
            foreach (var load in log.Loads)
            {
                screen.Show($"  load {load.Load} of {load.Breach}: {TableFormat.Number(load.Rows)} rows"
                    + (load.Counts ? "" : ", replaced by a later one"));
            }
            if (log.Removed.Count > 0)
                screen.Show($"Removed again: {string.Join(", ", log.Removed)}.");
            if (log.Hidden.Count > 0)
            {
                screen.Show($"Hidden, because no document says that they may be shown: {string.Join(", ", log.Hidden)}. Review each, then: "
                    + "hibp breach unhide");
            }
            if (log.Begun.Count > 0)
                screen.Show($"Not published, so not recovered: {log.Begun.Count} folders ({string.Join(", ", log.Begun)}).");
        }
        if (moved.Hidden.Count > 0)
        {
            screen.Show($"Hidden, because readers didn't see them before the restore: {string.Join(", ", moved.Hidden)}. Review each, "
                + "then: hibp breach unhide");
        }
        if (moved.Missing > 0)
        {
            screen.Show($"The tables lack {TableFormat.Number(moved.Missing)} rows: before you start a reader, run 'hibp layout rebuild "
                + "--into 1', which writes them from the journal, then 'hibp ranges fill'.");
        }
        if (moved.Suppressed > 0)
        {
            screen.Show($"{TableFormat.Number(moved.Suppressed)} suppressions that the backup lacked were applied: the subscriptions and "
                + "mails of these addresses are deleted.");
        }
        screen.Show($"{TableFormat.Number(document.Subscriptions)} subscriptions are in the database; the journal has none: 'hibp "
            + "subscribers import' imports them.");
    }
}

internal sealed class DatabaseBackupCommand : HibpCommand
{
    private readonly Argument<string> _to =
        new("TO") { Description = "A new file, or a folder, in which the file is named by the time. A note is written next to it." };

    public DatabaseBackupCommand()
        : base("backup", "Back up the SQLite database while hosts run: a consistent, verified copy, with a manifest that proves it "
            + "complete. Tables are not included: they are rebuilt from the journal.")
    {
        Add(_to);
        AddExamples(
            ("hibp database backup backups/", "a file named by the time, in an existing folder"),
            ("hibp database backup before-upgrade.db", "before 'hibp database upgrade'"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var emulators = await RunCommand.StartEmulatorsAsync(session, accounts: null, cancellationToken);
        await using var services = await session.OpenStorageAsync(cancellationToken);
        var (database, screen, to) = (services.GetRequiredService<IBreachDatabase>(), session.Screen, session.Parsed.GetRequiredValue(_to));
        if (Path.EndsInDirectorySeparator(to))
            Directory.CreateDirectory(to);
        var source = new FileInfo(DatabaseBackup.RequireFile(database).DisplayName);
        // Each byte is copied, and then read again.
        var (file, note) = await Transfer.ShowAsync(
            screen, "copying and checking", source.Exists ? 2 * source.Length : 0, session.Time,
            progress => new DatabaseBackup(database, services.GetRequiredService<IStoreRegister>(), session.Time)
                .BackUpAsync(to, progress, cancellationToken));
        if (!screen.TryShowJson(() => new BackupDocument(
            file, BackupNote.PathOf(file), note.Bytes, note.Sha256, note.TakenAt, note.Store, note.Schema, note.Highest)))
        {
            screen.Show($"{file} is the database as of {TableFormat.Utc(note.TakenAt)} ({TableFormat.Bytes(note.Bytes)}, loads up to "
                + $"{note.Highest.Load}); its note is {BackupNote.PathOf(file)}. It contains the addresses of subscribers and accounts: "
                + "protect it like the database. To restore it: hibp database restore");
            var keys = session.Settings.KeyFiles.Select(key => key.FilePath).Where(File.Exists).ToList();
            if (keys.Count > 0)
            {
                var (are, them) = keys.Count == 1 ? ("is", "it") : ("are", "them");
                screen.Show($"It can't be used without {string.Join(" and ", keys)}, which {are} not in it: back {them} up too.");
            }
        }
    }
}

internal sealed class DatabaseRestoreCommand : HibpCommand
{
    private readonly Argument<string> _from =
        new("FROM") { Description = "A backup file with its note next to it, or a folder, whose newest backup is taken." };

    private readonly Option<bool> _dryRun = new("--dry-run") { Description = "Only check whether it can be restored; change nothing." };
    private readonly Confirmation _confirmation = new();

    public DatabaseRestoreCommand()
        : base("restore", "Replace the database by a backup while all hosts are stopped, then bring it up to date as 'hibp database "
            + "restored' does. The previous database is kept next to it.")
    {
        Add(_from, _dryRun, _confirmation.Yes);
        AddExamples(
            ("hibp database restore backups/", "the newest in the folder; then start the hosts, check 'hibp status', and release unsent "
                + "mails with 'hibp mail release'"),
            ("hibp database restore before-upgrade.db --dry-run", "checks that it is complete, belongs to this store, and could be "
                + "restored"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var (parsed, screen) = (session.Parsed, session.Screen);
        var isTried = parsed.GetValue(_dryRun);
        if (!isTried)
            _confirmation.RequireAnswerable(parsed, "database restore");
        await using var emulators = await RunCommand.StartEmulatorsAsync(session, accounts: null, cancellationToken);
        await using var services = await session.OpenStorageAsync(cancellationToken);
        var database = DatabaseBackup.RequireFile(services.GetRequiredService<IBreachDatabase>());
        var (note, file) = await BackupNote.FindAsync(parsed.GetRequiredValue(_from), cancellationToken);
        using var restore = new DatabaseRestore(
            database, services.GetRequiredService<IStoreRegister>(), services.GetRequiredService<InstallationKeys>(), session.Time);
        await Transfer.ShowAsync(screen, "copying and checking", note.Bytes, session.Time, async progress =>
        {
            await restore.PrepareAsync(file, note, progress, cancellationToken);
            return true;
        });
        var backup = $"{file}, the database as of {TableFormat.Utc(note.TakenAt)} with loads up to {note.Highest.Load},";
        if (isTried)
        {
            if (!screen.TryShowJson(() => new RestoreDocument(file, note.TakenAt, Kept: null, Restored: null)))
                screen.Show($"{backup} is complete, and could be restored. Nothing was changed.");
            return;
        }
        await _confirmation.AskAsync(
            session, $"{backup} replaces {database.DisplayName}, which is kept next to it.",
            Path.GetFileName(database.DisplayName), cancellationToken);
        var previous = await restore.PutInPlaceAsync(cancellationToken);
        // Reported before anything else can fail.
        if (previous is not null)
            screen.Say($"the previous database is kept as {previous}");
        var (document, moved, files) = await DatabaseRestoredCommand.MoveOnAsync(session, services, empty: false, cancellationToken);
        if (!screen.TryShowJson(() => new RestoreDocument(file, note.TakenAt, previous, document)))
        {
            screen.Show($"{backup} was restored.");
            DatabaseRestoredCommand.Show(screen, document, moved, files);
        }
        ExitCode = DatabaseRestoredCommand.SayProblems(screen, moved);
    }
}

internal sealed class DatabasePurgeCommand : HibpCommand
{
    private readonly Argument<long?> _load =
        new("LOAD") { Description = "Number of the load, as 'hibp status' shows it.", Arity = ArgumentArity.ZeroOrOne };
    private readonly Option<int?> _olderThan =
        new("--older-than") { Description = "All loads that finished at least so many days ago.", HelpName = "DAYS" };

    private readonly Option<bool> _withoutJournal =
        new("--without-log") { Description = "Purge although there is no journal (HIBP_JOURNAL=off)." };

    public DatabasePurgeCommand()
        : base("purge", "Delete the rows of finished loads from the database. Their accounts stay searchable. The copy in the journal "
            + "is verified first.")
    {
        Add(_load, _olderThan, _withoutJournal);
        RequireOneOf(_load, _olderThan);
        _olderThan.Validators.Add(result =>
        {
            if (result.Tokens is [var token] && int.TryParse(token.Value, out var days) && days < 0)
                result.AddError("--older-than takes 0 days or more");
        });
        AddExamples(
            ("hibp database purge 7", "deletes the rows of load 7"),
            ("hibp database purge --older-than 30", "deletes those of all loads that finished 30 days ago or earlier"));
    }

    protected override async Task RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        await using var services = await session.OpenExistingAsync(cancellationToken);
        var purge = services.GetRequiredService<PurgeLoad>();
        var purged = new List<PurgedLoad>();
        foreach (var load in await ChooseAsync(session, services.GetRequiredService<IBreachDatabase>(), cancellationToken))
        {
            var rows = await ProgressSpinner.ShowAsync(
                session.Screen, $"load {load.Id}: rows purged",
                progress => purge.RunAsync(load.Id, session.Parsed.GetValue(_withoutJournal), progress, cancellationToken));
            purged.Add(new PurgedLoad(load.Id.Value, load.Breach, rows));
            if (!session.Screen.Json)
                session.Screen.Show($"Load {load.Id} of {load.Breach}: {TableFormat.Number(rows)} rows are deleted.");
        }
        if (session.Screen.Json)
            session.Screen.ShowJson(new PurgeDocument(purged));
        else if (purged.Count == 0)
            session.Screen.Show("There is nothing to purge.");
    }

    private async Task<IReadOnlyList<Load>> ChooseAsync(CommandSession session, ILoads loads, CancellationToken cancellationToken)
    {
        if (session.Parsed.GetValue(_olderThan) is not { } days)
        {
            var load = new LoadId(session.Parsed.GetValue(_load) ?? 0);
            return [await loads.GetLoadAsync(load, cancellationToken)
                ?? throw new NotPossibleException($"there is no load {load}; 'hibp status' lists all loads")];
        }
        var before = session.Time.GetUtcNow() - TimeSpan.FromDays(days);
        return [.. (await loads.ListLoadsAsync(null, cancellationToken)).Where(
            load => load is { State: LoadState.Done or LoadState.Failed, Purged: false, Removing: false } && load.FinishedAt <= before)];
    }
}
