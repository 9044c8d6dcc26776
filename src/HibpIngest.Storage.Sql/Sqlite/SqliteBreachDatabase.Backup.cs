namespace HibpIngest.Storage.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    // Far more notifications than are made between a backup and its restore. Pickup files and Message-IDs are derived from their ids, so a
    // reused id would be another mail's. If the clock in milliseconds since 1970 is higher, ids continue from there, so that one backup can
    // be restored twice: fewer mails are sent than one per millisecond.
    private const long SkippedNotificationIds = 1_000_000_000;

    // 16 MiB at a page size of 4 KiB: often enough to report progress and to be cancelled.
    private const int PagesAtOnce = 4096;

    // The first bytes of a SQLite file (sqlite.org/fileformat.html).
    private static ReadOnlySpan<byte> Magic => "SQLite format 3\0"u8;

    /// <summary>Suffixes of the files next to a SQLite file that is in use or was not closed.</summary>
    public static IReadOnlyList<string> Companions { get; } = [.. Logs, "-shm"];

    // The files that hold data. The shared memory is an index of the write-ahead log, which SQLite rebuilds by itself.
    private static string[] Logs => ["-wal", "-journal"];

    /// <summary>
    /// Copies a consistent snapshot of the database by SQLite's backup interface, concurrently with readers and writers. Changes made
    /// meanwhile stay in the write-ahead log until the copy is done.
    /// </summary>
    /// <param name="to">An empty or new file. It needs no companion files, and must be deleted if this fails.</param>
    /// <param name="progress">Receives the bytes copied.</param>
    public Task CopyToAsync(string to, IProgress<long> progress, CancellationToken cancellationToken) => Task.Run(
        () =>
        {
            _opened.Check();
            using var source = OpenReader();
            using var target = new SqliteSession(to, _time, create: true);
            // The transaction is held until the end: otherwise a commit by another connection restarts a copy in steps.
            source.Script("BEGIN; SELECT COUNT(*) FROM sqlite_master");
            source.CopyTo(target, PagesAtOnce, progress, cancellationToken);
            target.Script("PRAGMA journal_mode = DELETE");
            _opened.Check();
        },
        cancellationToken);

    /// <summary>Checks the whole database.</summary>
    /// <returns>A description of the damage, or null.</returns>
    /// <exception cref="StoreRefusedException">It is not a database, or can't be checked.</exception>
    public Task<string?> FindDamageAsync(CancellationToken cancellationToken) => ReadAsync(async session =>
    {
        // The result names tables and pages, no data.
        var found = await session.FirstAsync("PRAGMA integrity_check(1)", row => row.Text("integrity_check"));
        return found == "ok" ? null : found;
    }, cancellationToken);

    /// <summary>Skips ids after a restore, so that no notification gets an id that was used since the backup.</summary>
    public Task SkipNotificationIdsAsync(CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        var now = BigInt("@now", _time.GetUtcNow().ToUnixTimeMilliseconds());
        if (await session.ExecuteAsync(
            $"UPDATE sqlite_sequence SET seq = MAX(seq + {SkippedNotificationIds}, @now) WHERE name = 'notifications'", now) == 0)
        {
            await session.ExecuteAsync("INSERT INTO sqlite_sequence (name, seq) VALUES ('notifications', @now)", now);
        }
    }, cancellationToken);

    /// <summary>
    /// Moves all data into the database file, so that it can be moved: its companion files then hold none. No connection of this process
    /// may be open.
    /// </summary>
    /// <exception cref="NotPossibleException">Another process has it open.</exception>
    /// <exception cref="StoreRefusedException">It is damaged, or not a database.</exception>
    public static void Settle(string file)
    {
        // SQLite would discard the log next to a file that is not a database.
        using (var content = new FileStream(file, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete))
        {
            Span<byte> begin = stackalloc byte[Magic.Length];
            if (content.Length > 0 && (content.ReadAtLeast(begin, begin.Length, throwOnEndOfStream: false) < begin.Length
                || !begin.SequenceEqual(Magic)))
            {
                throw new StoreRefusedException($"'{file}' is not a SQLite database");
            }
        }
        using (var session = new SqliteSession(file, TimeProvider.System))
        {
            // In this mode the first access needs exclusive use of the file. Closing the last connection moves everything out of the log.
            if (!session.TryScript("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT", throwIfBusy: false))
            {
                throw new NotPossibleException(
                    $"database '{file}' is in use by another process: stop every host, and every command that uses it");
            }
        }
        // Closing reports no failure, such as a full disk; the log is left then.
        if (Logs.Select(suffix => new FileInfo(file + suffix)).FirstOrDefault(log => log is { Exists: true, Length: > 0 })
            is { } left)
        {
            throw new NotPossibleException(
                $"'{left.FullName}' could not be written into its database: check the disk's free space, and that both files are writable");
        }
    }
}
