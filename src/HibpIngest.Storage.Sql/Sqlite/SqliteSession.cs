using System.Runtime.InteropServices;
using SQLitePCL;

namespace HibpIngest.Storage.Sql.Sqlite;

/// <summary>
/// One connection with its prepared statements. Not thread-safe. Uses SQLite's native interface: rows are copied between batch and database
/// without an object per row, and a running statement can be interrupted.
/// </summary>
internal sealed class SqliteSession : ISqlSession, IDisposable
{
    // How long a reader waits for another process, which happens only while that one opens, recovers or closes the database;
    // SqliteBreachDatabase waits for the write lock itself.
    private static readonly TimeSpan BusyTimeout = TimeSpan.FromSeconds(10);

    // sqlite.org/c3ref/c_fcntl_begin_atomic_write.html
    private const int FileHasMoved = 20;

    private readonly Dictionary<string, SqliteStatement> _statements = [];
    private readonly sqlite3 _database;
    private readonly string _file;
    private readonly TimeProvider _time;

    static SqliteSession() => Batteries_V2.Init();

    public static Version LibraryVersion => new(raw.sqlite3_libversion().utf8_to_string());

    /// <param name="create">Creates a missing file, in an existing folder.</param>
    public SqliteSession(string file, TimeProvider time, bool create = false)
    {
        _file = file;
        _time = time;
        var flags = raw.SQLITE_OPEN_READWRITE | (create ? raw.SQLITE_OPEN_CREATE : 0) | raw.SQLITE_OPEN_NOMUTEX;
        var code = raw.sqlite3_open_v2(file, out _database, flags, null);
        if (code != raw.SQLITE_OK)
        {
            _database?.Dispose();
            if (!create && !Path.Exists(file))
            {
                throw new StoreMissingException(
                    $"there is no database '{file}': name an existing one; "
                    + "'hibp run' and 'hibp database upgrade' create a new one, with its schema");
            }
            throw code == raw.SQLITE_CANTOPEN
                ? new StoreRefusedException(
                    $"database '{file}' can't be opened: its folder must exist, and this user must have write permission on both")
                : SqliteErrors.Create(code, file, "");
        }
        raw.sqlite3_extended_result_codes(_database, 1);
        // The name of SQL Server's default schema, so that statements are the same; valid for this connection, in addition to "main".
        // SQLite keeps a pointer to the name instead of a copy: a literal never moves.
        Check(raw.sqlite3_db_config(_database, raw.SQLITE_DBCONFIG_MAINDBNAME, utf8z.FromSpan("dbo\0"u8)));
        SetBusyTimeout(BusyTimeout);
    }

    public bool IsBroken { get; private set; }

    /// <summary>
    /// True if the file was deleted, moved or replaced since it was opened, judged by its inode. Never true on Windows, which prevents that
    /// for an open SQLite file.
    /// </summary>
    public bool HasMoved => FileControl(_database, null, FileHasMoved, out var moved) == raw.SQLITE_OK && moved != 0;

    public bool InTransaction => raw.sqlite3_get_autocommit(_database) == 0;

    /// <summary>Interrupts a running statement, which then throws <see cref="OperationCanceledException"/>.</summary>
    public CancellationToken Cancellation { get; set; }

    /// <summary>Returns a statement, prepared at its first use and cached. Dispose it after reading its rows.</summary>
    public SqliteStatement Prepare(string sql)
    {
        if (!_statements.TryGetValue(sql, out var statement))
        {
            Check(raw.sqlite3_prepare_v3(_database, sql, raw.SQLITE_PREPARE_PERSISTENT, out var prepared));
            _statements.Add(sql, statement = new SqliteStatement(this, prepared));
        }
        return statement;
    }

    public SqliteStatement Prepare(string sql, params ReadOnlySpan<Parameter> parameters)
    {
        var statement = Prepare(sql);
        statement.Bind(parameters, _time.GetUtcNow());
        return statement;
    }

    /// <summary>Completes synchronously, like every statement here.</summary>
    public Task<int> ExecuteAsync(string sql, params Parameter[] parameters)
    {
        using var statement = Prepare(sql, parameters);
        while (statement.Step())
            Cancellation.ThrowIfCancellationRequested();
        return Task.FromResult(raw.sqlite3_changes(_database));
    }

    public Task<List<T>> ListAsync<T>(string sql, Func<IRow, T> read, params Parameter[] parameters)
    {
        using var row = Prepare(sql, parameters);
        var list = new List<T>();
        while (row.Step())
            list.Add(read(row));
        return Task.FromResult(list);
    }

    /// <summary>Runs several statements without parameters, and doesn't cache them.</summary>
    public void Script(string sql) => Check(raw.sqlite3_exec(_database, sql));

    public bool TryScript(string sql, bool throwIfBusy)
    {
        var code = raw.sqlite3_exec(_database, sql);
        if ((code & 0xFF) == raw.SQLITE_BUSY && !throwIfBusy)
            return false;
        Check(code);
        return true;
    }

    /// <returns>False if another connection is reading the log or writing.</returns>
    public bool TryTruncateWal()
    {
        using var row = Prepare("PRAGMA wal_checkpoint(TRUNCATE)", []);
        return row.Step() && row.Int64(0) == 0;
    }

    /// <summary>Copies this database as this connection's transaction sees it. If it is cancelled, the target is unusable.</summary>
    /// <param name="progress">Receives the bytes copied.</param>
    public void CopyTo(SqliteSession target, int pagesAtOnce, IProgress<long> progress, CancellationToken cancellationToken)
    {
        using var pageSize = Prepare("PRAGMA page_size");
        pageSize.Step();
        var bytes = pageSize.Int64(0);
        // Each connection's own database is "main" in this call.
        var backup = raw.sqlite3_backup_init(target._database, "main", _database, "main");
        if (backup is null || backup.IsInvalid)
            target.Check(raw.sqlite3_errcode(target._database));
        try
        {
            int code;
            while ((code = raw.sqlite3_backup_step(backup, pagesAtOnce)) == raw.SQLITE_OK)
            {
                progress.Report(bytes * (raw.sqlite3_backup_pagecount(backup) - raw.sqlite3_backup_remaining(backup)));
                cancellationToken.ThrowIfCancellationRequested();
            }
            if (code != raw.SQLITE_DONE)
                target.Check(code);
        }
        finally
        {
            raw.sqlite3_backup_finish(backup);
        }
    }

    public void SetBusyTimeout(TimeSpan timeout) => raw.sqlite3_busy_timeout(_database, (int)timeout.TotalMilliseconds);

    public void MarkBroken() => IsBroken = true;

    /// <summary>Interrupts a running statement, from any thread; does nothing if none is running.</summary>
    public void Interrupt() => raw.sqlite3_interrupt(_database);

    public void Check(int code)
    {
        if (code == raw.SQLITE_OK)
            return;
        if (code == raw.SQLITE_INTERRUPT)
            throw new OperationCanceledException(Cancellation);
        IsBroken |= SqliteErrors.BreaksConnection(code);
        throw SqliteErrors.Create(code, _file, raw.sqlite3_errmsg(_database).utf8_to_string());
    }

    public void Dispose()
    {
        foreach (var statement in _statements.Values)
            statement.Close();
        _statements.Clear();
        raw.sqlite3_close_v2(_database);
    }

    // SQLitePCL has no method for this call of the library that it has loaded.
    [DllImport("e_sqlite3", EntryPoint = "sqlite3_file_control", CallingConvention = CallingConvention.Cdecl)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories | DllImportSearchPath.AssemblyDirectory)]
    private static extern int FileControl(
        sqlite3 database, [MarshalAs(UnmanagedType.LPUTF8Str)] string? name, int operation, out int result);
}
