using HibpIngest.Errors;
using static HibpIngest.Sql.Parameter;

namespace HibpIngest.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    /// <summary>
    /// Far more notifications than are ever made between a backup and its restoring. Pickup files and Message-IDs are made from their
    /// ids: one that is given again would be another mail's. So that one backup can be put back twice, they go on from the milliseconds
    /// of the clock (since 1970) where that is more: fewer mails go out than one each millisecond.
    /// </summary>
    private const long SkippedNotificationIds = 1_000_000_000;

    /// <summary>16 MiB at a page of 4 KiB: often enough to show how far it is, and to be stopped.</summary>
    private const int PagesAtOnce = 4096;

    /// <summary>What a file of SQLite's begins with (sqlite.org/fileformat.html).</summary>
    private static ReadOnlySpan<byte> Magic => "SQLite format 3\0"u8;

    /// <summary>What lies beside a file of SQLite's while it is used, or was not closed.</summary>
    public static IReadOnlyList<string> Companions { get; } = [.. Logs, "-shm"];

    /// <summary>Those that hold data. The shared memory is an index of the write-ahead log, which SQLite makes again by itself.</summary>
    private static string[] Logs => ["-wal", "-journal"];

    /// <summary>
    /// Copies the database as it is at one moment, by SQLite's backup interface, while others read and write it. What they
    /// write meanwhile stays in the write-ahead log until the copy is done.
    /// </summary>
    /// <param name="to">A file that is empty, or isn't there; it needs nothing beside it, and is to be deleted where this fails.</param>
    /// <param name="progress">Told of the bytes copied.</param>
    public Task CopyToAsync(string to, IProgress<long> progress, CancellationToken cancellationToken) => Task.Run(
        () =>
        {
            _opened.Check();
            using var source = OpenReader();
            using var target = new SqliteSession(to, _time, create: true);
            // Held until the end: to a copy in steps, whatever another connection commits in between is a reason to begin anew.
            source.Script("BEGIN; SELECT COUNT(*) FROM sqlite_master");
            source.CopyTo(target, PagesAtOnce, progress, cancellationToken);
            target.Script("PRAGMA journal_mode = DELETE");
            _opened.Check();
        },
        cancellationToken);

    /// <summary>Reads all of it, and says what is damaged; null: nothing.</summary>
    /// <exception cref="StoreRefusedException">It is no database, or can't even be looked through.</exception>
    public Task<string?> FindDamageAsync(CancellationToken cancellationToken) => ReadAsync(
        // What it says names tables and pages, no data.
        async session => (await session.ListAsync("PRAGMA integrity_check(1)", row => row.Text(0))) is [var said, ..] && said != "ok"
            ? said : null,
        cancellationToken);

    /// <summary>A database that was put back to a backup gives no notification an id that one may have had since.</summary>
    public Task SkipNotificationIdsAsync(CancellationToken cancellationToken) => WriteAsync(
        async session =>
        {
            var now = BigInt("@now", _time.GetUtcNow().ToUnixTimeMilliseconds());
            if (await session.ExecuteAsync(
                $"UPDATE sqlite_sequence SET seq = MAX(seq + {SkippedNotificationIds}, @now) WHERE name = 'notifications'", now) == 0)
            {
                await session.ExecuteAsync("INSERT INTO sqlite_sequence (name, seq) VALUES ('notifications', @now)", now);
            }
        },
        cancellationToken);

    /// <summary>
    /// Has a file hold all of its database, so that it can be moved: what still lies beside it holds no data. To be called where
    /// no connection of this process is open.
    /// </summary>
    /// <exception cref="NotPossibleException">Another process has it open.</exception>
    /// <exception cref="StoreRefusedException">It is damaged, or no database.</exception>
    public static void Settle(string file)
    {
        // SQLite would throw the log away that lies beside what is no database.
        using (var content = new FileStream(file, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete))
        {
            Span<byte> begin = stackalloc byte[Magic.Length];
            if (content.Length > 0 && (content.ReadAtLeast(begin, begin.Length, throwOnEndOfStream: false) < begin.Length
                || !begin.SequenceEqual(Magic)))
            {
                throw new StoreRefusedException($"'{file}' is no database of SQLite's");
            }
        }
        using (var session = new SqliteSession(file, TimeProvider.System))
        {
            // In this mode the first access needs the file alone. Closed as the last one, it takes everything out of the log.
            if (!session.TryScript("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT", throwIfBusy: false))
            {
                throw new NotPossibleException(
                    $"database '{file}' is in use by another process: stop every host, and every command that works with it");
            }
        }
        // Closing says nothing of what it could not do, as where the disk is full; the log stays then.
        if (Logs.Select(suffix => new FileInfo(file + suffix)).FirstOrDefault(beside => beside is { Exists: true, Length: > 0 })
            is { } left)
        {
            throw new NotPossibleException(
                $"'{left.FullName}' could not be written into its database: is there room on the disk, and may both be written?");
        }
    }
}
