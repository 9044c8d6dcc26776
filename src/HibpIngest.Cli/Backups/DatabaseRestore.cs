using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Subscribers;
using HibpIngest.Storage.Sql.Sqlite;

namespace HibpIngest.Cli.Backups;

/// <summary>
/// Replaces the database by a backup while no host is running. The whole backup is checked before anything is changed, and the previous
/// database is kept. From just before the exchange until <see cref="ReconcileRestoredDatabase"/> has ended, the register has a flag set:
/// hosts refuse to start, and every mail that was not sent at the time of the backup is held, even if no load has been added since.
/// </summary>
/// <param name="database">The target file; not opened yet.</param>
internal sealed class DatabaseRestore(SqliteBreachDatabase database, IStoreRegister register, InstallationKeys keys, TimeProvider time)
    : IDisposable
{
    private const string StagedSuffix = ".restoring";

    private readonly string _file = FileOf(database.DisplayName);
    private string? _staged;
    private FileStream? _held;
    private BackupNote? _note;

    /// <summary>Copies the backup next to the database, checks the copy, and upgrades its schema. The database stays unchanged.</summary>
    /// <exception cref="StoreMismatchException">The backup is from another store or a newer program, or HIBP_SUPPRESSION_KEY is not the key
    /// that was used.</exception>
    public async Task PrepareAsync(string backup, BackupNote note, IProgress<long> progress, CancellationToken cancellationToken)
    {
        await RequireNoHostAsync(cancellationToken);
        if (new FileInfo(backup).Length is var length && length != note.Bytes)
        {
            throw new BadInputException(
                $"backup '{backup}': its note says {note.Bytes} bytes, found {length}; it is incomplete, use another backup");
        }
        await RequireStoreAsync(backup, note, cancellationToken);
        var folder = Path.GetDirectoryName(_file)!;
        Directory.CreateDirectory(folder);
        RemoveLeft(_file);
        _staged = $"{_file}.{Guid.NewGuid():N}{StagedSuffix}";
        await using (var copy = FileCopy.Create(_staged))
        {
            _held = FileCopy.Hold(_staged);
            // If root restores, the file must belong to the service's user, who opens it.
            UnixFiles.CopyOwner(File.Exists(_file) ? _file : folder, _staged);
            if (await FileCopy.HashAsync(backup, copy, progress, cancellationToken) != note.Sha256)
            {
                throw new BadInputException(
                    $"backup '{backup}' does not match its note's SHA-256: it was changed since; use another backup");
            }
            copy.Flush(flushToDisk: true);
        }
        await using (var staged = SqliteBreachDatabase.Open(_staged, time))
        {
            if (await staged.FindDamageAsync(cancellationToken) is { } damage)
                throw new BadInputException($"backup '{backup}' is damaged ({damage}); use another backup");
            if (await staged.GetIdentityAsync(cancellationToken) is var identity && identity?.Id != note.Store
                || await staged.GetHighestIdsAsync(cancellationToken) != note.Highest)
            {
                throw new BadInputException($"backup '{backup}' and its note belong to different databases; use another backup");
            }
            await UpgradeAsync(staged, note, cancellationToken);
            // ReconcileRestoredDatabase needs the key; without it, the restore must not begin.
            await new ApplySuppressions(staged, register, keys).CheckKeyAsync(cancellationToken);
            await staged.SkipNotificationIdsAsync(cancellationToken);
        }
        SqliteBreachDatabase.Settle(_staged);
        _note = note;
    }

    /// <returns>The file to which the previous database was moved. Null if there was none.</returns>
    public async Task<string?> PutInPlaceAsync(CancellationToken cancellationToken)
    {
        await RequireNoHostAsync(cancellationToken);
        SettleCurrent();
        // Ids are raised, never lowered: no id that was ever confirmed is assigned again.
        await register.ConfirmAsync(_note!.Confirmed, cancellationToken);
        await register.ConfirmAsync(_note.Highest, cancellationToken);
        var (_, before) = await register.GetConfirmedAsync(cancellationToken);
        // From here on, a starting host refuses. The flag stays set until ReconcileRestoredDatabase has ended.
        await register.SetMovingOnAsync(true, cancellationToken);
        try
        {
            // A host may have started before the flag was set.
            await RequireNoHostAsync(cancellationToken);
            SettleCurrent();
            // Closed now, while no connection has the file open: closing it later would release that connection's locks
            // (sqlite.org/howtocorrupt.html, 2.2).
            _held?.Dispose();
            return Exchange();
        }
        catch when (!before)
        {
            await register.SetMovingOnAsync(false, CancellationToken.None);
            throw;
        }
    }

    public void Dispose()
    {
        _held?.Dispose();
        if (_staged is not null)
            FileCopy.Delete(_staged);
    }

    /// <summary>Deletes full copies of the database that killed restores have left next to it, unless a restore is using them.</summary>
    public static void RemoveLeft(string database)
    {
        var file = FileOf(database);
        FileCopy.RemoveLeft(Path.GetDirectoryName(file)!, Path.GetFileName(file), StagedSuffix);
    }

    /// <summary>Resolves symbolic links: the link's target is the file in use.</summary>
    private static string FileOf(string database) => new FileInfo(database) is { LinkTarget: not null } link
        ? link.ResolveLinkTarget(returnFinalTarget: true)!.FullName : Path.GetFullPath(database);

    private string? Exchange()
    {
        var name = $"{_file}.before-restore-{time.GetUtcNow().ToString("yyyyMMdd'T'HHmmss'Z'", CultureInfo.InvariantCulture)}";
        var previous = name;
        for (var number = 2; Path.Exists(previous); number++)
            previous = $"{name}-{number}";
        var moved = new List<string>();
        try
        {
            // A log of another database must not stay next to the new one, even if the previous database is missing.
            foreach (var suffix in SqliteBreachDatabase.Companions.Where(suffix => File.Exists(_file + suffix)))
            {
                File.Move(_file + suffix, previous + suffix);
                moved.Add(suffix);
            }
            if (!File.Exists(_file))
            {
                File.Move(_staged!, _file);
                return null;
            }
            // One atomic step: at any time there is a database at this path, the new or the previous one.
            File.Replace(_staged!, _file, previous);
            return previous;
        }
        catch
        {
            foreach (var suffix in moved)
                File.Move(previous + suffix, _file + suffix);
            throw;
        }
    }

    /// <summary>Checks that no process has the database open. A file that is no database is kept, with its companion files.</summary>
    /// <returns>True if the database can be read; it is replaced in either case.</returns>
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

    private async Task RequireNoHostAsync(CancellationToken cancellationToken)
    {
        var now = time.GetUtcNow();
        if ((await register.ListHeartbeatsAsync(cancellationToken)).FirstOrDefault(heartbeat => !heartbeat.IsMissed(now)) is not { } host)
            return;
        throw new NotPossibleException($"a host is running on {host.Machine} (process {host.ProcessId}, {host.Roles}): stop every host "
            + $"first; one that was killed counts as stopped {(int)Heartbeat.MissedAfter.TotalSeconds} seconds later");
    }

    private async Task RequireStoreAsync(string backup, BackupNote note, CancellationToken cancellationToken)
    {
        var inTable = await register.GetIdentityAsync(cancellationToken);
        if (inTable?.Id != note.Store)
        {
            throw new StoreMismatchException($"backup '{backup}' belongs to store {note.Store}, the account table to "
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
            // The existing database can't be read, which may be the reason for the restore.
        }
        if (there is not null && there != note.Store)
        {
            throw new StoreMismatchException(
                $"database {database.DisplayName} belongs to store {there}, the backup to store {note.Store}: name the right database");
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
                + $"restore it with the program that made it ({note.Program})");
        }
    }
}
