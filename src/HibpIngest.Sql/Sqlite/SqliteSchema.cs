using HibpIngest.Errors;

namespace HibpIngest.Sql.Sqlite;

/// <summary>
/// The schema's numbered scripts (Schema/0001-*.sql, 0002-*, ...), and which of them a database has. The number
/// is kept in the file's header (PRAGMA user_version).
/// </summary>
internal static class SqliteSchema
{
    /// <summary>"HIBP" in ASCII, in the file's header (PRAGMA application_id): tells our files from other programs'.</summary>
    private const int ApplicationId = 0x48494250;

    private static readonly IReadOnlyList<string> Scripts = SchemaScripts.Read("Sqlite");

    /// <summary>The version this program is made for.</summary>
    public static int Expected => Scripts.Count;

    /// <summary>
    /// The version a database has; 0: it is empty. To be called in a transaction: another process may upgrade
    /// it between two statements.
    /// </summary>
    /// <exception cref="StoreRefusedException">It is another program's.</exception>
    public static int Find(SqliteSession connection, string file)
    {
        if (connection.Number("PRAGMA application_id") == ApplicationId)
            return (int)connection.Number("PRAGMA user_version")!.Value;
        return connection.Number("SELECT COUNT(*) FROM sqlite_master") == 0
            ? 0
            : throw new StoreRefusedException($"'{file}' is the database of another program: name another file");
    }

    /// <summary>Applies what is missing. To be called in a transaction that holds the write lock.</summary>
    public static void Upgrade(SqliteSession connection, string file)
    {
        var found = Find(connection, file);
        if (found > Expected)
            throw new StoreMismatchException($"database '{file}' has schema version {found}, this program knows up to {Expected}: use the newer program, or another file");
        const string OpenLoad = "SELECT id FROM loads WHERE state NOT IN ('done', 'failed', 'held') LIMIT 1";
        if (found > 0 && found < Expected && connection.Number(OpenLoad) is { } open)
            throw Refusals.UpgradeOpen(file, open);
        for (var version = found + 1; version <= Expected; version++)
        {
            connection.Script(Scripts[version - 1]);
            connection.Script($"PRAGMA user_version = {version}; PRAGMA application_id = {ApplicationId}");
        }
    }
}
