using System.Collections.Concurrent;
using System.Data.Common;

namespace HibpIngest.Storage.Sql.Sqlite;

/// <summary>
/// The database in one SQLite file on a local disk. Any number of processes may share it: writers take turns (within this process at a
/// semaphore, between processes at SQLite's lock), readers never wait. An embedded database has no clock of its own: leases, claims and
/// ages use the TimeProvider it is opened with, so processes that share a file must share a machine's clock.
/// </summary>
public sealed partial class SqliteBreachDatabase : SqlBreachDatabase
{
    /// <summary>Time that a writer waits for other processes' transactions. The longest, a batch, takes far less than a second.</summary>
    public static readonly TimeSpan LockTimeout = TimeSpan.FromSeconds(60);

    // The maximum number of concurrent readers. Each has a page cache, and reads wait for the disk more than for each other.
    private const int MaxReaders = 8;

    private static readonly TimeSpan FirstLockDelay = TimeSpan.FromMilliseconds(1);
    private static readonly TimeSpan MaxLockDelay = TimeSpan.FromMilliseconds(25);

    private readonly string _file;
    private readonly DatabaseFile _opened;
    private readonly TimeProvider _time;
    private readonly SemaphoreSlim _writing = new(1);
    private readonly SemaphoreSlim _reading = new(MaxReaders);
    private readonly ConcurrentBag<SqliteSession> _readers = [];
    private SqliteSession? _writer;

    private SqliteBreachDatabase(string file, TimeProvider time)
        : base(["blob", "etag"], bytewise: "")
    {
        _file = file;
        _opened = new DatabaseFile(file);
        _time = time;
    }

    public override string DisplayName => _file;

    /// <summary>Maximum size of the file in pages, like a quota. 0 means SQLite's own limit.</summary>
    internal int MaxPages { get; init; }

    /// <summary>Opens and creates nothing yet. File and folder are created with the schema: see <see cref="UpgradeAsync"/>.</summary>
    /// <param name="fileOrConnectionString">A path (<c>.hibp/hibp.db</c>) or <c>Data Source=path</c>.</param>
    /// <exception cref="StoreRefusedException">The connection string has other settings, or names no file.</exception>
    public static SqliteBreachDatabase Open(string fileOrConnectionString, TimeProvider time) =>
        Open(fileOrConnectionString, time, maxPages: 0);

    internal static SqliteBreachDatabase Open(string fileOrConnectionString, TimeProvider time, int maxPages) =>
        new(FileOf(fileOrConnectionString), time) { MaxPages = maxPages };

    /// <summary>
    /// Checks that the open file was not deleted, moved or replaced. Every transaction does this; call it from processes that may begin
    /// no transaction for long.
    /// </summary>
    /// <exception cref="StoreMismatchException">The file was deleted, moved or replaced.</exception>
    public void CheckFile()
    {
        if (_opened.IsOpen)
            _opened.Check();
    }

    /// <summary>Returns version 0 for a missing file, and doesn't create it.</summary>
    public override Task<(int Found, int Expected)> GetSchemaVersionAsync(CancellationToken cancellationToken) =>
        _opened.IsOpen || Path.Exists(_file)
            ? ReadAsync(async session => (await SqliteSchema.FindAsync(session, _file), SqliteSchema.Expected), cancellationToken)
            : Task.FromResult((0, SqliteSchema.Expected));

    /// <summary>Also creates file and folder if they are missing.</summary>
    /// <exception cref="StoreRefusedException">They can't be created.</exception>
    public override Task UpgradeAsync(CancellationToken cancellationToken)
    {
        _opened.Create();
        return WriteAsync(session => SqliteSchema.UpgradeAsync((SqliteSession)session, _file), cancellationToken);
    }

    public override Task<(string Found, string Advice)?> CheckSetUpAsync(CancellationToken cancellationToken) =>
        Task.FromResult<(string, string)?>(null);

    /// <summary>Closes the connections; no call may be in progress.</summary>
    public override ValueTask DisposeAsync()
    {
        _writer?.Dispose();
        _writer = null;
        while (_readers.TryTake(out var reader))
            reader.Dispose();
        _opened.Dispose();
        _writing.Dispose();
        _reading.Dispose();
        return ValueTask.CompletedTask;
    }

    private static string FileOf(string fileOrConnectionString)
    {
        const string Expected = "database: expected a SQLite file, as a path or as 'Data Source=path'";
        var file = fileOrConnectionString;
        if (fileOrConnectionString.TrimStart().StartsWith("Data Source", StringComparison.OrdinalIgnoreCase))
        {
            try
            {
                var settings = new DbConnectionStringBuilder { ConnectionString = fileOrConnectionString };
                file = settings.Count == 1 && settings.TryGetValue("Data Source", out var source)
                    ? (string)source
                    : throw new StoreRefusedException($"{Expected}, without further settings");
            }
            catch (ArgumentException e)
            {
                throw new StoreRefusedException(Expected, e);
            }
        }
        return string.IsNullOrWhiteSpace(file) || file.StartsWith(':') || file.StartsWith("file:", StringComparison.OrdinalIgnoreCase)
            ? throw new StoreRefusedException($"{Expected}; databases in memory and URIs are not supported")
            : file;
    }

    private protected override Task<T> WriteWithCommitCheckAsync<T>(
        Func<ISqlSession, bool, Task<T>> work, CancellationToken cancellationToken) =>
        WriteAsync(session => work(session, /* mayHaveCommitted */ false), cancellationToken);

    /// <summary>Runs the work on the calling thread; cancellation interrupts even a running statement.</summary>
    private protected override async Task<T> WriteAsync<T>(
        Func<ISqlSession, Task<T>> work, CancellationToken cancellationToken, bool isLong = false)
    {
        await _writing.WaitAsync(cancellationToken);
        try
        {
            cancellationToken.ThrowIfCancellationRequested();
            _opened.Check();
            var connection = _writer ??= await OpenWriterAsync(cancellationToken);
            try
            {
                await RunUnderLockAsync(connection, "BEGIN IMMEDIATE", cancellationToken);
                // The file is checked again before the commit. A commit into a deleted file is lost, and messages sent after it would refer
                // to rows that don't exist.
                return await RunAsync(connection, work, _opened.Check, cancellationToken);
            }
            finally
            {
                if (connection.IsBroken)
                {
                    _writer = null;
                    connection.Dispose();
                }
            }
        }
        finally
        {
            _writing.Release();
        }
    }

    /// <summary>Runs work in one read transaction: all its statements see the same state, and it blocks no writer.</summary>
    private protected override async Task<T> ReadAsync<T>(Func<ISqlSession, Task<T>> work, CancellationToken cancellationToken)
    {
        await _reading.WaitAsync(cancellationToken);
        try
        {
            cancellationToken.ThrowIfCancellationRequested();
            _opened.Check();
            if (!_readers.TryTake(out var connection))
                connection = OpenReader();
            try
            {
                connection.Script("BEGIN");
                return await RunAsync(connection, work, beforeCommit: null, cancellationToken);
            }
            finally
            {
                if (connection.IsBroken)
                    connection.Dispose();
                else
                    _readers.Add(connection);
            }
        }
        finally
        {
            _reading.Release();
        }
    }

    private protected override string Limit(string query, string limit = "@limit") => $"SELECT {query} LIMIT {limit}";

    private static async Task<T> RunAsync<T>(
        SqliteSession connection, Func<ISqlSession, Task<T>> work, Action? beforeCommit, CancellationToken cancellationToken)
    {
        var committed = false;
        connection.Cancellation = cancellationToken;
        try
        {
            using var interrupt = cancellationToken.UnsafeRegister(static state => ((SqliteSession)state!).Interrupt(), connection);
            var result = await work(connection);
            cancellationToken.ThrowIfCancellationRequested();
            beforeCommit?.Invoke();
            connection.Script("COMMIT");
            committed = true;
            return result;
        }
        finally
        {
            connection.Cancellation = CancellationToken.None;
            // After some errors (full disk, interrupted write) SQLite has rolled back by itself.
            if (!committed && connection.InTransaction)
                RollBack(connection);
        }
    }

    private static void RollBack(SqliteSession connection)
    {
        try
        {
            connection.Script("ROLLBACK");
        }
        catch (Exception e) when (e is HibpException or InvalidOperationException)
        {
            // The error that failed the work is the one to report. Closing the connection rolls back too.
            connection.MarkBroken();
        }
    }

    private async Task<SqliteSession> OpenWriterAsync(CancellationToken cancellationToken)
    {
        var connection = new SqliteSession(_file, _time);
        try
        {
            // RunUnderLockAsync waits for other processes instead, without blocking a thread and with cancellation.
            connection.SetBusyTimeout(TimeSpan.Zero);
            // Another program's database must not be changed.
            connection.Script("BEGIN");
            await RunUnderLockAsync(connection, "SELECT COUNT(*) FROM sqlite_master", cancellationToken);
            await SqliteSchema.FindAsync(connection, _file);
            connection.Script("COMMIT");
            // In WAL mode, readers and the writer don't block each other. The mode is stored in the file; changing it needs an exclusive
            // lock.
            await RunUnderLockAsync(connection, "PRAGMA journal_mode = WAL", cancellationToken);
            // synchronous = FULL: a commit is on disk before its slices' messages are sent. With NORMAL a power failure could undo
            // committed batches whose slices are upserted already, under a mark that the database doesn't know. It costs a tenth of the
            // copying rate (measured). wal_autocheckpoint: a checkpoint syncs the database file; at 16 MB of log (pages of 4 KiB) it comes
            // every dozen batches instead of every third.
            await RunUnderLockAsync(
                connection,
                "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864; "
                + "PRAGMA cache_size = -16000",
                cancellationToken);
            if (MaxPages > 0)
                connection.Script($"PRAGMA max_page_count = {MaxPages}");
            return connection;
        }
        catch
        {
            connection.Dispose();
            throw;
        }
    }

    private SqliteSession OpenReader()
    {
        var connection = new SqliteSession(_file, _time);
        try
        {
            connection.Script("PRAGMA query_only = 1");
            connection.Script("PRAGMA cache_size = -8000");
            return connection;
        }
        catch
        {
            connection.Dispose();
            throw;
        }
    }

    private static async Task RunUnderLockAsync(SqliteSession connection, string sql, CancellationToken cancellationToken)
    {
        var began = TimeProvider.System.GetTimestamp();
        var delay = FirstLockDelay;
        var retries = 0;
        while (!connection.TryScript(sql, throwIfBusy: TimeProvider.System.GetElapsedTime(began) > LockTimeout))
        {
            retries++;
            await Task.Delay(delay, cancellationToken);
            delay = delay * 2 < MaxLockDelay ? delay * 2 : MaxLockDelay;
        }
        HibpTelemetry.SqlCalled(retries, throttled: 0);
    }
}
