using SQLitePCL;

namespace HibpIngest.Storage.Sql.Sqlite;

/// <summary>
/// Maps SQLite's result codes (sqlite.org/rescode.html) to the pipeline's errors, in one place. No message contains a value that was bound
/// to a statement.
/// </summary>
internal static class SqliteErrors
{
    // If less space than this is free, an I/O error counts as a full disk: SQLite reports SQLITE_FULL only for a failed write, not if a
    // log or its index can't be created or extended.
    private const long FullDiskBytes = 1 << 20;

    /// <param name="file">The database file, as the operator named it.</param>
    /// <param name="detail">SQLite's own message; it names tables and columns, and is used only if it can't contain data.</param>
    public static Exception Create(int code, string file, string detail)
    {
        var reason = $"{raw.sqlite3_errstr(code).utf8_to_string()} (SQLite {code})";
        switch (code & 0xFF)
        {
            case raw.SQLITE_FULL:
                return Full(file, reason);
            case raw.SQLITE_IOERR:
                return IsDiskFull(file) ? Full(file, reason)
                    : new UnavailableException($"database '{file}' can't be read or written just now: {reason}");
            case raw.SQLITE_BUSY or raw.SQLITE_LOCKED or raw.SQLITE_PROTOCOL:
                return new UnavailableException($"database '{file}' is locked by another process: {reason}");
            case raw.SQLITE_CANTOPEN or raw.SQLITE_NOMEM:
                return new UnavailableException($"database '{file}' can't be opened: {reason}; check its folder and its permissions");
            case raw.SQLITE_READONLY or raw.SQLITE_PERM or raw.SQLITE_AUTH:
                return new StoreRefusedException(
                    $"database '{file}' can't be written: {reason}; give this user write permission on the file and its folder");
            case raw.SQLITE_NOTADB:
                return new StoreRefusedException($"'{file}' is not a database: name another file, or move this one away");
            case raw.SQLITE_CORRUPT:
                return new StoreRefusedException($"database '{file}' is damaged: {reason}; restore it from a copy");
            case raw.SQLITE_ERROR when detail.StartsWith("no such ", StringComparison.Ordinal):
                return new StoreRefusedException(
                    $"database '{file}' is missing a part of this program's schema ({detail}): run 'hibp database upgrade'");
            default:
                return new InvalidOperationException($"database '{file}': {reason}");
        }
    }

    public static bool BreaksConnection(int code) =>
        (code & 0xFF) is raw.SQLITE_IOERR or raw.SQLITE_CORRUPT or raw.SQLITE_CANTOPEN
            or raw.SQLITE_NOTADB or raw.SQLITE_NOMEM or raw.SQLITE_MISUSE;

    private static StoreFullException Full(string file, string reason) =>
        new($"the disk or quota of '{file}' is full ({reason}): free some space, and the work resumes where it stopped");

    private static bool IsDiskFull(string file)
    {
        try
        {
            return new DriveInfo(Path.GetFullPath(file)).AvailableFreeSpace < FullDiskBytes;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or ArgumentException)
        {
            return false;
        }
    }
}
