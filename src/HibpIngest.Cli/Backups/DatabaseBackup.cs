using HibpIngest.Storage.Sql.Sqlite;

namespace HibpIngest.Cli.Backups;

/// <summary>Copies and checks the database while hosts are running. The tables are rebuilt from the journal instead.</summary>
internal sealed class DatabaseBackup(IBreachDatabase database, IStoreRegister register, TimeProvider time)
{
    // The first version whose database contains the highest ids.
    private const int FirstSchemaWithIds = 2;

    private const string NamePrefix = "hibp-";

    public static SqliteBreachDatabase RequireFile(IBreachDatabase database) => database as SqliteBreachDatabase
        ?? throw new NotPossibleException($"database {database.DisplayName} is on a server, which backs up and restores by its own means "
            + "(BACKUP DATABASE and RESTORE DATABASE, or Azure's point in time): after a restore run 'hibp database restored'");

    /// <summary>Makes the backup, after its note. An interrupted backup leaves neither.</summary>
    /// <param name="to">A file that doesn't exist, or an existing folder, in which the file is named by the time.</param>
    /// <param name="progress">Receives the bytes copied, and then those read again: twice the database's size in all.</param>
    public async Task<(string File, BackupNote Note)> BackUpAsync(string to, IProgress<long> progress, CancellationToken cancellationToken)
    {
        var source = RequireFile(database);
        await RequireStoreAsync(source, cancellationToken);
        var takenAt = time.GetUtcNow();
        var file = Directory.Exists(to)
            ? Path.Combine(to, NamePrefix + takenAt.ToString("yyyyMMdd'T'HHmmss'Z'", CultureInfo.InvariantCulture) + ".db") : to;
        var note = BackupNote.PathOf(file);
        if (((string[])[file, note]).FirstOrDefault(Path.Exists) is { } existing)
            throw new NotPossibleException($"'{existing}' already exists: name another file, or a folder");
        var copy = $"{file}.{Guid.NewGuid():N}{BackupNote.PartSuffix}";
        var copyNote = BackupNote.PathOf(copy);
        // Before leftovers of interrupted backups are deleted: a missing folder can't be listed.
        if (Path.GetDirectoryName(Path.GetFullPath(file)) is { } folder)
        {
            Directory.CreateDirectory(folder);
            // Limited to these names: the folder may contain files of other programs.
            foreach (var name in (string[])[NamePrefix + "*.db", Path.GetFileName(file)])
                FileCopy.RemoveLeft(folder, name, BackupNote.PartSuffix, BackupNote.PathOf);
        }
        FileStream? held = null;
        try
        {
            await FileCopy.Create(copy).DisposeAsync();
            held = FileCopy.Hold(copy);
            await source.CopyToAsync(copy, progress, cancellationToken);
            var described = await DescribeAsync(copy, Path.GetFileName(file), takenAt, progress, cancellationToken);
            await described.WriteAsync(copyNote, cancellationToken);
            // The note is moved first, so that a backup never exists without it.
            File.Move(copyNote, note);
            try
            {
                File.Move(copy, file);
            }
            catch
            {
                File.Delete(note);
                throw;
            }
            return (file, described);
        }
        finally
        {
            if (held is not null)
                await held.DisposeAsync();
            FileCopy.Delete(copy);
            File.Delete(copyNote);
        }
    }

    private async Task<BackupNote> DescribeAsync(
        string copy, string name, DateTimeOffset takenAt, IProgress<long> progress, CancellationToken cancellationToken)
    {
        // Read after the copy was made, so these may be higher than the copy's own ids. A restore confirms both: no id is assigned twice.
        var (confirmed, _) = await register.GetConfirmedAsync(cancellationToken);
        var (identity, schema, highest) = await LookThroughAsync(copy, cancellationToken);
        var bytes = new FileInfo(copy).Length;
        var hashing = new ImmediateProgress<long>(value => progress.Report(bytes + value));
        var sha256 = await FileCopy.HashAsync(copy, to: null, hashing, cancellationToken);
        return new BackupNote(
            BackupNote.CurrentFormat, name, bytes, sha256, takenAt, ProgramVersion.Full, identity.Id, schema, highest, confirmed);
    }

    /// <summary>Closes the copy when done: on Windows no other process can read a file that is open for writing.</summary>
    private async Task<(StoreIdentity Identity, int Schema, StoreIds Highest)> LookThroughAsync(
        string copy, CancellationToken cancellationToken)
    {
        await using var taken = SqliteBreachDatabase.Open(copy, time);
        if (await taken.FindDamageAsync(cancellationToken) is { } damage)
        {
            throw new StoreRefusedException(
                $"database {database.DisplayName} is damaged, and its backup would be too ({damage}): restore an earlier one with hibp "
                + "database restore");
        }
        var (schema, _) = await taken.GetSchemaVersionAsync(cancellationToken);
        return ((await taken.GetIdentityAsync(cancellationToken))!, schema, await taken.GetHighestIdsAsync(cancellationToken));
    }

    /// <summary>Accepts an older schema too: backups are made before upgrades.</summary>
    private async Task RequireStoreAsync(SqliteBreachDatabase source, CancellationToken cancellationToken)
    {
        var (found, expected) = await source.GetSchemaVersionAsync(cancellationToken);
        if (found == 0 || await source.GetIdentityAsync(cancellationToken) is not { } identity)
        {
            throw new NotPossibleException($"database {source.DisplayName} does not exist, or is empty: set --database or "
                + "HIBP_DATABASE to the right one");
        }
        if (found is < FirstSchemaWithIds || found > expected)
        {
            throw new StoreMismatchException($"database {source.DisplayName} has schema {found}, this program backs up "
                + $"{FirstSchemaWithIds} to {expected}: use the program of its version, or SQLite's VACUUM INTO");
        }
        var inTable = await register.GetIdentityAsync(cancellationToken);
        if (inTable?.Id != identity.Id)
        {
            throw new StoreMismatchException($"database {source.DisplayName} (store {identity.Id}) and the account table (store "
                + $"{inTable?.Id.ToString() ?? "none"}) do not belong together: set HIBP_DATABASE and HIBP_STORAGE to the same store");
        }
    }
}
