using HibpIngest.Errors;

namespace HibpIngest.Sql.Sqlite;

/// <summary>
/// Which of the schema's scripts a database has: the number is kept in the file's header (PRAGMA user_version).
/// </summary>
internal static class SqliteSchema
{
    /// <summary>
    /// "HIBP" in ASCII, in the file's header (PRAGMA application_id): tells our files from other programs'.
    /// </summary>
    private const int ApplicationId = 0x48494250;

    private static readonly IReadOnlyList<string> Scripts = SchemaScripts.Read("Sqlite");

    /// <summary>The version this program is made for.</summary>
    public static int Expected => Scripts.Count;

    /// <summary>
    /// The version a database has; 0: it is empty. To be called in a transaction: another process may upgrade
    /// it between two statements.
    /// </summary>
    /// <exception cref="StoreRefusedException">It is another program's.</exception>
    public static async Task<int> FindAsync(ISqlSession session, string file)
    {
        if (await session.NumberAsync("PRAGMA application_id") == ApplicationId)
            return (int)(await session.NumberAsync("PRAGMA user_version"))!.Value;
        return await session.NumberAsync("SELECT COUNT(*) FROM sqlite_master") == 0
            ? 0
            : throw new StoreRefusedException($"'{file}' is the database of another program: name another file");
    }

    /// <summary>Applies what is missing. To be called in a transaction that holds the write lock.</summary>
    public static async Task UpgradeAsync(SqliteSession session, string file) =>
        await SchemaScripts.UpgradeAsync(session, Scripts, await FindAsync(session, file), $"'{file}'", "file", (script, version) =>
        {
            session.Script(script);
            session.Script($"PRAGMA user_version = {version}; PRAGMA application_id = {ApplicationId}");
            return Task.CompletedTask;
        });
}
