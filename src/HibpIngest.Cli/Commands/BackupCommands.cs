using HibpIngest.Cli.Backups;

namespace HibpIngest.Cli.Commands;

internal sealed class BackupCommand : HibpCommand
{
    private readonly Argument<string> _to = new("TO")
    {
        Description = "A file that isn't there yet, or a folder, which gets a file named by the time. A note is written beside it.",
    };

    public BackupCommand()
        : base("backup", "Back the SQL side up while hosts are at work: a copy of the SQLite database as it is at one moment, looked "
            + "through, with a note by which it is known to be whole. Tables are not in it: the account log makes them again.")
    {
        Add(_to);
        Examples =
        [
            ("hibp backup backups/", "a file named by the time, in a folder that is there"),
            ("hibp backup before-upgrade.db", "before hibp database upgrade"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
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
        if (screen.Json)
        {
            screen.ShowJson(
                new BackupDocument(
                    file, BackupNote.PathOf(file), note.Bytes, note.Sha256, note.TakenAt, note.Store, note.Schema, note.Highest),
                Documents.Default.BackupDocument);
        }
        else
        {
            screen.Show($"{file} is the database as of {TableFormat.Utc(note.TakenAt)} ({TableFormat.Bytes(note.Bytes)}, loads up to "
                + $"{note.Highest.Load}); its note is {BackupNote.PathOf(file)}. It holds the addresses of subscribers and accounts: "
                + "keep it as you keep the database. Back: hibp restore");
            var keys = session.Settings.KeyFiles.Select(key => key.FilePath).Where(File.Exists).ToList();
            if (keys.Count > 0)
            {
                var (are, them) = keys.Count == 1 ? ("is", "it") : ("are", "them");
                screen.Show($"It can't be used without {string.Join(" and ", keys)}, which {are} not in it: keep {them} with it.");
            }
        }
        return 0;
    }
}

internal sealed class RestoreCommand : HibpCommand
{
    private readonly Argument<string> _from = new("FROM")
    {
        Description = "A file that hibp backup has made, its note beside it, or a folder of them, whose newest is taken.",
    };

    private readonly Option<bool> _dryRun = new("--dry-run") { Description = "Only look whether it could be restored; change nothing." };
    private readonly Confirmation _confirmation = new();

    public RestoreCommand()
        : base("restore", "Put a backup in the database's place, every host stopped, and move it on as hibp database restored does: ids "
            + "given since are never given again, what the account log tells is known again, mails that were not out at the backup "
            + "are held. The database that was there is kept beside it.")
    {
        Add(_from);
        Add(_dryRun);
        Add(_confirmation.Yes);
        Examples =
        [
            ("hibp restore backups/", "the newest there; then start the hosts, look at hibp status, and release by hibp notify what was "
                + "not sent before"),
            ("hibp restore before-upgrade.db --dry-run", "whether it is whole, of this store, and could be put back"),
        ];
    }

    protected override async Task<int> RunAsync(CommandSession session, CancellationToken cancellationToken)
    {
        var (parsed, screen) = (session.Parsed, session.Screen);
        var isTried = parsed.GetValue(_dryRun);
        if (!isTried)
            _confirmation.RequireAnswerable(parsed, "restore");
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
            if (screen.Json)
                screen.ShowJson(new RestoreDocument(file, note.TakenAt, Kept: null, Restored: null), Documents.Default.RestoreDocument);
            else
                screen.Show($"{backup} is whole, and could be restored. Nothing was changed.");
            return 0;
        }
        await _confirmation.AskAsync(
            session, $"{backup} takes the place of {database.DisplayName}, which is kept beside it.",
            Path.GetFileName(database.DisplayName), cancellationToken);
        var kept = await restore.PutInPlaceAsync(cancellationToken);
        // Reported before anything else can fail.
        if (kept is not null)
            screen.Say($"the database that was there is kept as {kept}");
        var (document, moved, files) = await DatabaseRestoredCommand.MoveOnAsync(session, services, empty: false, cancellationToken);
        if (screen.Json)
            screen.ShowJson(new RestoreDocument(file, note.TakenAt, kept, document), Documents.Default.RestoreDocument);
        else
        {
            screen.Show($"{backup} was restored.");
            DatabaseRestoredCommand.Show(screen, document, moved, files);
        }
        return DatabaseRestoredCommand.SayProblems(screen, moved);
    }
}
