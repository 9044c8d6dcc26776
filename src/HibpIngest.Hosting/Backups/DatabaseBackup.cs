using System.Globalization;
using HibpIngest.Errors;
using HibpIngest.Sql.Sqlite;
using HibpIngest.Stores;

namespace HibpIngest.Hosting.Backups;

/// <summary>
/// Backs the SQL side up, while hosts are at work: a copy of the database as it is at one moment, looked through, and a note of what
/// it is of. Tables are not in it: they are made again from the account log.
/// </summary>
public sealed class DatabaseBackup(IBreachDatabase database, IStoreRegister register, TimeProvider time)
{
    /// <summary>Since this one the highest ids are in the database.</summary>
    private const int FirstSchemaWithIds = 2;

    /// <summary>What the name of a backup into a folder begins with.</summary>
    private const string NamePrefix = "hibp-";

    /// <summary>The database's file.</summary>
    /// <exception cref="NotPossibleException">It is on a server.</exception>
    public static SqliteBreachDatabase RequireFile(IBreachDatabase database) => database as SqliteBreachDatabase
        ?? throw new NotPossibleException($"database {database.DisplayName} is on a server, which backs up and restores by its own means "
            + "(BACKUP DATABASE and RESTORE DATABASE, or Azure's point in time): after a restore run 'hibp database restored'");

    /// <summary>Makes the backup and, first, its note; what is broken off leaves neither.</summary>
    /// <param name="to">A file that isn't there, or a folder that is, which gets a file named by the time.</param>
    /// <param name="progress">Told of the bytes copied, and then read again: twice the database's in all.</param>
    /// <exception cref="NotPossibleException">There is nothing to back up, or something is in the way.</exception>
    /// <exception cref="StoreMismatchException">Database and storage account don't belong together.</exception>
    /// <exception cref="StoreRefusedException">The database is damaged.</exception>
    public async Task<(string File, BackupNote Note)> TakeAsync(string to, IProgress<long> progress, CancellationToken cancellationToken)
    {
        var source = RequireFile(database);
        await RequireStoreAsync(source, cancellationToken);
        var takenAt = time.GetUtcNow();
        var file = Directory.Exists(to)
            ? Path.Combine(to, NamePrefix + takenAt.ToString("yyyyMMdd'T'HHmmss'Z'", CultureInfo.InvariantCulture) + ".db") : to;
        var note = BackupNote.PathOf(file);
        foreach (var path in (string[])[file, note])
        {
            if (Path.Exists(path))
                throw new NotPossibleException($"'{path}' is there already: name another file, or a folder");
        }
        var copy = $"{file}.{Guid.NewGuid():N}{BackupNote.PartSuffix}";
        var copyNote = BackupNote.PathOf(copy);
        // Before what is broken off is deleted: in no folder, nothing can be.
        if (Path.GetDirectoryName(Path.GetFullPath(file)) is { } folder)
        {
            Directory.CreateDirectory(folder);
            // Under no other names: the folder may be anybody's.
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
            // A backup that is there has its note.
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
        // Before the copy's: it never runs ahead of the database.
        var (confirmed, _) = await register.GetConfirmedAsync(cancellationToken);
        var (identity, schema, highest) = await LookThroughAsync(copy, cancellationToken);
        var bytes = new FileInfo(copy).Length;
        var sha256 = await FileCopy.HashAsync(copy, to: null, new Behind(progress, bytes), cancellationToken);
        return new BackupNote(
            BackupNote.CurrentFormat, name, bytes, sha256, takenAt, ProgramVersion.Full, identity.Id, schema, highest, confirmed);
    }

    /// <summary>Closed behind it: Windows lets nobody else read what is open for writing.</summary>
    private async Task<(StoreIdentity Identity, int Schema, StoreIds Highest)> LookThroughAsync(
        string copy, CancellationToken cancellationToken)
    {
        await using var taken = SqliteBreachDatabase.Open(copy, time);
        if (await taken.FindDamageAsync(cancellationToken) is { } damage)
        {
            throw new StoreRefusedException(
                $"database {database.DisplayName} is damaged, and so would be its backup ({damage}): put an earlier one back by hibp "
                + "restore");
        }
        var (schema, _) = await taken.GetSchemaVersionAsync(cancellationToken);
        return ((await taken.GetIdentityAsync(cancellationToken))!, schema, await taken.GetHighestIdsAsync(cancellationToken));
    }

    /// <summary>An older schema will do: a backup is made before an upgrade.</summary>
    private async Task RequireStoreAsync(SqliteBreachDatabase source, CancellationToken cancellationToken)
    {
        var (found, expected) = await source.GetSchemaVersionAsync(cancellationToken);
        if (found == 0 || await source.GetIdentityAsync(cancellationToken) is not { } identity)
        {
            throw new NotPossibleException($"database {source.DisplayName} is not there, or is empty: name the one that is meant by "
                + "--database or HIBP_DATABASE");
        }
        if (found is < FirstSchemaWithIds || found > expected)
        {
            throw new StoreMismatchException($"database {source.DisplayName} has schema {found}, this program backs up "
                + $"{FirstSchemaWithIds} to {expected}: use the program that it is of, or SQLite's VACUUM INTO");
        }
        var inTable = await register.GetIdentityAsync(cancellationToken);
        if (inTable?.Id != identity.Id)
        {
            throw new StoreMismatchException($"database {source.DisplayName} (store {identity.Id}) and the account table (store "
                + $"{inTable?.Id.ToString() ?? "none"}) do not belong together: use the pair that does");
        }
    }

    /// <summary>Behind what was copied.</summary>
    private sealed class Behind(IProgress<long> progress, long before) : IProgress<long>
    {
        public void Report(long value) => progress.Report(before + value);
    }
}
