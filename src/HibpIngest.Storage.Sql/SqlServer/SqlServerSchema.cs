using System.Data;
using System.Text.RegularExpressions;
using Microsoft.Data.SqlClient;

namespace HibpIngest.Storage.Sql.SqlServer;

/// <summary>
/// The schema's numbered scripts, whose batches are separated by GO lines as in sqlcmd, and the versions that a database has (table
/// dbo.hibp_schema).
/// </summary>
internal static partial class SqlServerSchema
{
    // Another upgrade takes seconds.
    private static readonly TimeSpan LockTimeout = TimeSpan.FromMinutes(2);

    private static readonly IReadOnlyList<string> Scripts = SchemaScripts.Read("SqlServer");

    public static int Expected => Scripts.Count;

    /// <returns>0 if the database has none of the program's tables.</returns>
    public static async Task<int> FindAsync(ISqlSession session) =>
        await session.NumberAsync("SELECT OBJECT_ID('dbo.hibp_schema', 'U')") is null
            ? 0
            : (int)(await session.NumberAsync("SELECT MAX(version) FROM dbo.hibp_schema") ?? 0);

    /// <summary>Applies the missing scripts, each in a transaction of its own, under an application lock of the session.</summary>
    public static async Task UpgradeAsync(SqlServerSession session, string database, CancellationToken cancellationToken)
    {
        await LockAsync(session, database);
        try
        {
            var found = await FindAsync(session);
            if (found == 0)
                await RefuseCollisionsAsync(session, database);
            await SchemaScripts.UpgradeAsync(
                session, Scripts, found, database, "database",
                (script, version) => ApplyAsync(session, script, version, cancellationToken));
            await SetRowVersionsAsync(session);
        }
        finally
        {
            await UnlockAsync(session);
        }
    }

    /// <summary>True if readers don't wait for writers, also on a server that always works so and has no such setting.</summary>
    public static async Task<bool> HasRowVersionsAsync(ISqlSession session) => await session.NumberAsync("""
        SELECT CASE WHEN is_read_committed_snapshot_on = 0 AND SERVERPROPERTY('BabelfishVersion') IS NULL THEN 0 ELSE 1 END
        FROM sys.databases WHERE database_id = DB_ID()
        """) != 0;

    private static async Task ApplyAsync(SqlServerSession session, string script, int version, CancellationToken cancellationToken)
    {
        await using var transaction = session.Connection.BeginTransaction(IsolationLevel.ReadCommitted);
        var inTransaction = session.In(transaction);
        await inTransaction.ExecuteAsync("""
            IF OBJECT_ID('dbo.hibp_schema', 'U') IS NULL
            CREATE TABLE dbo.hibp_schema (version int NOT NULL CONSTRAINT hibp_schema_key PRIMARY KEY, applied_at datetime2(3) NOT NULL)
            """);
        foreach (var batch in BatchEnd().Split(script).Where(batch => !string.IsNullOrWhiteSpace(batch)))
        {
            cancellationToken.ThrowIfCancellationRequested();
            await inTransaction.ExecuteAsync(batch);
        }
        await inTransaction.ExecuteAsync(
            "INSERT INTO dbo.hibp_schema (version, applied_at) VALUES (@version, @now)", Parameter.Int("@version", version));
        transaction.Commit();
    }

    private static async Task RefuseCollisionsAsync(SqlServerSession session, string database)
    {
        foreach (Match table in TableName().Matches(Scripts[0]))
        {
            if (await session.NumberAsync("SELECT OBJECT_ID(@name)", Parameter.Text("@name", table.Value, 128)) is not null)
            {
                throw new StoreRefusedException(
                    $"database {database} has a table '{table.Value}' of another program: name another database");
            }
        }
    }

    private static async Task SetRowVersionsAsync(SqlServerSession session)
    {
        if (await HasRowVersionsAsync(session))
            return;
        try
        {
            // This needs exclusive use of the database for a moment.
            await session.ExecuteAsync("ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH NO_WAIT");
        }
        catch (SqlException)
        {
            // The setting is optional: everything works without it, and 'hibp doctor' says what to do.
        }
    }

    private static async Task LockAsync(SqlServerSession session, string database)
    {
        var answer = await session.NumberAsync("""
            DECLARE @answer int;
            EXEC @answer = sp_getapplock @Resource = N'hibp schema', @LockMode = 'Exclusive', @LockOwner = 'Session',
                @LockTimeout = @timeout;
            SELECT @answer
            """, Parameter.Milliseconds("@timeout", LockTimeout));
        if (answer is not >= 0)
        {
            throw new UnavailableException(
                $"the schema of database {database} is being upgraded by another process: wait until that ends");
        }
    }

    private static async Task UnlockAsync(SqlServerSession session)
    {
        try
        {
            // This statement isn't cancellable: the connection returns to the pool, and would keep the lock there.
            using var command = session.Connection.CreateCommand();
            command.CommandText = "EXEC sp_releaseapplock @Resource = N'hibp schema', @LockOwner = 'Session'";
            await command.ExecuteNonQueryAsync(CancellationToken.None);
        }
        catch (Exception e) when (e is SqlException or InvalidOperationException)
        {
            // The error that broke the session is the one to report; the lock was released with the session.
        }
    }

    [GeneratedRegex(@"^GO\s*$", RegexOptions.Multiline | RegexOptions.CultureInvariant, matchTimeoutMilliseconds: 1000)]
    private static partial Regex BatchEnd();

    [GeneratedRegex(@"(?<=CREATE TABLE )dbo\.\w+", RegexOptions.CultureInvariant, matchTimeoutMilliseconds: 1000)]
    private static partial Regex TableName();
}
