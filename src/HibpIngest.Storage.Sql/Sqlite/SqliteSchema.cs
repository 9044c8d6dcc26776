namespace HibpIngest.Storage.Sql.Sqlite;

/// <summary>The schema's scripts. The file's header holds the version that a database has (PRAGMA user_version).</summary>
internal static class SqliteSchema
{
    // "HIBP" in ASCII, in the file's header (PRAGMA application_id): distinguishes the program's files from others.
    private const int ApplicationId = 0x48494250;

    private static readonly IReadOnlyList<string> Scripts = SchemaScripts.Read("Sqlite");

    public static int Expected => Scripts.Count;

    /// <summary>Must run in a transaction: another process may upgrade between two statements.</summary>
    /// <returns>0 if the database is empty.</returns>
    public static async Task<int> FindAsync(ISqlSession session, string file)
    {
        if (await session.NumberAsync("PRAGMA application_id") == ApplicationId)
            return (int)(await session.NumberAsync("PRAGMA user_version"))!.Value;
        return await session.NumberAsync("SELECT COUNT(*) FROM sqlite_master") == 0
            ? 0
            : throw new StoreRefusedException($"'{file}' is the database of another program: name another file");
    }

    /// <summary>Must run in a transaction that holds the write lock.</summary>
    public static async Task UpgradeAsync(SqliteSession session, string file) =>
        await SchemaScripts.UpgradeAsync(session, Scripts, await FindAsync(session, file), $"'{file}'", "file", (script, version) =>
        {
            session.Script(script);
            session.Script($"PRAGMA user_version = {version}; PRAGMA application_id = {ApplicationId}");
            return Task.CompletedTask;
        });
}
