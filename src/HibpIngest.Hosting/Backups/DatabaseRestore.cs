using System.Globalization;
using HibpIngest.Errors;
using HibpIngest.Pipeline;
using HibpIngest.Sql.Sqlite;
using HibpIngest.Stores;

namespace HibpIngest.Hosting.Backups;

/// <summary>
/// Puts a backup in the place of the database, no host running. All of it is looked at before anything is touched; the database that
/// was there is kept. From the moment before it is moved until <see cref="MoveOn"/> has ended, the register says that a database is being
/// moved on: hosts refuse to start, and every mail that was not out at the backup is held, whether or not a load came since.
/// </summary>
/// <param name="database">Its place; not opened yet.</param>
/// <param name="keys">That of suppressions is checked, where there are any.</param>
public sealed class DatabaseRestore(SqliteBreachDatabase database, IStoreRegister register, InstallationKeys keys, TimeProvider time)
    : IDisposable
{
    private const string StagedSuffix = ".restoring";

    private readonly string _file = FileOf(database.DisplayName);

    private string? _staged;
    private FileStream? _held;
    private BackupNote? _note;

    /// <summary>
    /// Copies the backup beside the database, looks through it, and brings it to this program's schema. The database stays as it is.
    /// </summary>
    /// <param name="progress">Told of the bytes copied.</param>
    /// <param name="cancellationToken">Stops it, and leaves nothing behind.</param>
    /// <exception cref="NotPossibleException">A host is at work.</exception>
    /// <exception cref="BadInputException">The backup is not what its note says.</exception>
    /// <exception cref="StoreMismatchException">
    /// It is another store's, or a newer program's, or HIBP_SUPPRESSION_KEY isn't the one that was used.
    /// </exception>
    public async Task PrepareAsync(string backup, BackupNote note, IProgress<long> progress, CancellationToken cancellationToken)
    {
        await RequireNobodyAsync(cancellationToken);
        if (new FileInfo(backup).Length is var length && length != note.Bytes)
            throw new BadInputException($"backup '{backup}' has {length} bytes, its note says {note.Bytes}: it is not whole; use another");
        await RequireStoreAsync(backup, note, cancellationToken);
        var folder = Path.GetDirectoryName(_file)!;
        Directory.CreateDirectory(folder);
        RemoveLeft(_file);
        _staged = $"{_file}.{Guid.NewGuid():N}{StagedSuffix}";
        await using (var copy = FileCopy.Create(_staged))
        {
            _held = FileCopy.Hold(_staged);
            // Restored by root, it is the service's, whose user opens it.
            UnixFiles.GiveToOwnerOf(File.Exists(_file) ? _file : folder, _staged);
            if (await FileCopy.HashAsync(backup, copy, progress, cancellationToken) != note.Sha256)
            {
                throw new BadInputException(
                    $"backup '{backup}' is not what its note says it was (SHA-256): it was changed since; use another");
            }
            copy.Flush(flushToDisk: true);
        }
        await using (var staged = SqliteBreachDatabase.Open(_staged, time))
        {
            if (await staged.FindDamageAsync(cancellationToken) is { } damage)
                throw new BadInputException($"backup '{backup}' is damaged ({damage}): use another");
            if (await staged.GetIdentityAsync(cancellationToken) is var identity && identity?.Id != note.Store
                || await staged.GetHighestIdsAsync(cancellationToken) != note.Highest)
            {
                throw new BadInputException($"backup '{backup}' and its note are of two databases: use another");
            }
            await UpgradeAsync(staged, note, cancellationToken);
            // MoveOn needs it, and is better not begun without.
            await new ApplySuppressions(staged, register, keys).CheckKeyAsync(cancellationToken);
            await staged.SkipNotificationIdsAsync(cancellationToken);
        }
        SqliteBreachDatabase.Settle(_staged);
        _note = note;
    }

    /// <summary>Puts what was prepared in the database's place. What is left to do is <see cref="MoveOn"/>'s.</summary>
    /// <returns>Where the database is that was there; null: there was none.</returns>
    /// <exception cref="NotPossibleException">A host is at work, or the database is in use.</exception>
    public async Task<string?> PutInPlaceAsync(CancellationToken cancellationToken)
    {
        await RequireNobodyAsync(cancellationToken);
        SettleCurrent();
        // Raised, never lowered: nothing that was confirmed once is given again.
        await register.ConfirmAsync(_note!.Confirmed, cancellationToken);
        await register.ConfirmAsync(_note.Highest, cancellationToken);
        var (_, before) = await register.GetConfirmedAsync(cancellationToken);
        // A host that starts from now on refuses. Stays until the database is moved on.
        await register.SetMovingOnAsync(true, cancellationToken);
        try
        {
            // One may have come before that was recorded.
            await RequireNobodyAsync(cancellationToken);
            SettleCurrent();
            // Closed while no connection has the file open: closing it would take their locks (sqlite.org/howtocorrupt.html, 2.2).
            _held?.Dispose();
            return Exchange();
        }
        catch when (!before)
        {
            await register.SetMovingOnAsync(false, CancellationToken.None);
            throw;
        }
    }

    /// <summary>Takes away what was prepared and not put in place.</summary>
    public void Dispose()
    {
        _held?.Dispose();
        if (_staged is not null)
            FileCopy.Delete(_staged);
    }

    /// <summary>Removes whole copies of the database that killed restores have left beside it, unless a restore uses them.</summary>
    /// <param name="database">The database's file.</param>
    public static void RemoveLeft(string database)
    {
        var file = FileOf(database);
        FileCopy.RemoveLeft(Path.GetDirectoryName(file)!, Path.GetFileName(file), StagedSuffix);
    }

    /// <summary>Where a link leads: that is what is in use.</summary>
    private static string FileOf(string database) => new FileInfo(database) is { LinkTarget: not null } link
        ? link.ResolveLinkTarget(returnFinalTarget: true)!.FullName : Path.GetFullPath(database);

    private string? Exchange()
    {
        var name = $"{_file}.before-restore-{time.GetUtcNow().ToString("yyyyMMdd'T'HHmmss'Z'", CultureInfo.InvariantCulture)}";
        var kept = name;
        for (var number = 2; Path.Exists(kept); number++)
            kept = $"{name}-{number}";
        var moved = new List<string>();
        try
        {
            // A log that isn't its own is nothing for the database that comes, even where the one before is gone.
            foreach (var suffix in SqliteBreachDatabase.Companions.Where(suffix => File.Exists(_file + suffix)))
            {
                File.Move(_file + suffix, kept + suffix);
                moved.Add(suffix);
            }
            if (!File.Exists(_file))
            {
                File.Move(_staged!, _file);
                return null;
            }
            // In one step: whatever happens, there is a database at its place, this one or the one before.
            File.Replace(_staged!, _file, kept);
            return kept;
        }
        catch
        {
            foreach (var suffix in moved)
                File.Move(kept + suffix, _file + suffix);
            throw;
        }
    }

    /// <summary>Nobody else has it open. What is no database is kept as it is, with all that lies beside it.</summary>
    /// <returns>Whether it can be read; it is replaced in either case.</returns>
    private bool SettleCurrent()
    {
        if (!File.Exists(_file))
            return false;
        try
        {
            SqliteBreachDatabase.Settle(_file);
            return true;
        }
        catch (StoreRefusedException)
        {
            return false;
        }
    }

    private async Task RequireNobodyAsync(CancellationToken cancellationToken)
    {
        var now = time.GetUtcNow();
        if ((await register.ListSignsAsync(cancellationToken)).FirstOrDefault(sign => !sign.IsMissed(now)) is not { } host)
            return;
        throw new NotPossibleException($"a host is at work on {host.Machine} (process {host.ProcessId}, {host.Roles}): stop every host "
            + $"first; one that was killed counts as stopped {(int)HostSign.MissedAfter.TotalSeconds} seconds later");
    }

    /// <summary>Backup, storage account and the database that is there, where it can be read, are of one store.</summary>
    private async Task RequireStoreAsync(string backup, BackupNote note, CancellationToken cancellationToken)
    {
        var inTable = await register.GetIdentityAsync(cancellationToken);
        if (inTable?.Id != note.Store)
        {
            throw new StoreMismatchException($"backup '{backup}' is of store {note.Store}, the account table of "
                + $"{(inTable is null ? "none: it is fresh" : $"store {inTable.Id}")}: name the storage account that belongs to the "
                + "backup");
        }
        if (!SettleCurrent())
            return;
        Guid? there = null;
        try
        {
            await using var current = SqliteBreachDatabase.Open(_file, time);
            if ((await current.GetSchemaVersionAsync(cancellationToken)).Found > 0)
                there = (await current.GetIdentityAsync(cancellationToken))?.Id;
        }
        catch (StoreRefusedException)
        {
            // It can't be read: that may be why it is replaced.
        }
        if (there is not null && there != note.Store)
        {
            throw new StoreMismatchException(
                $"database {database.DisplayName} is of store {there}, the backup of store {note.Store}: name the database that is meant");
        }
    }

    private static async Task UpgradeAsync(SqliteBreachDatabase staged, BackupNote note, CancellationToken cancellationToken)
    {
        try
        {
            await staged.UpgradeAsync(cancellationToken);
        }
        catch (NotPossibleException e)
        {
            throw new NotPossibleException($"the backup has schema {note.Schema}, and can't be brought to this program's ({e.Message}): "
                + $"restore it by the program that made it ({note.Program})");
        }
    }
}
