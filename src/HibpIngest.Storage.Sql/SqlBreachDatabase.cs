namespace HibpIngest.Storage.Sql;

/// <summary>
/// The part of the database that uses the same statements on SQL Server and SQLite (whose main schema is named dbo for that: see
/// <see cref="Sqlite.SqliteSession"/>). Works at READ COMMITTED, with row versioning or without, and needs no lock hints: exclusive steps
/// are decided by a conditional UPDATE, by a unique key, or under a row or application lock that the transaction holds. A statement reads
/// what was committed when it began, so anything that depends on a lock is read by a later statement. A database with a single writer
/// satisfies all of this at no cost.
/// </summary>
public abstract partial class SqlBreachDatabase : IBreachDatabase
{
    private readonly string[] _versionColumns;

    /// <param name="versionColumns">The columns by which a version of a blob is found.</param>
    /// <param name="bytewise">Appended to a column to compare texts bytewise; empty if that is the default.</param>
    private protected SqlBreachDatabase(string[] versionColumns, string bytewise)
    {
        _versionColumns = versionColumns;
        OfVersion = string.Join(" AND ", versionColumns.Select(column => $"{column} = @{column}"));
        OfSameBlob = $"FROM dbo.loads r JOIN dbo.loads l ON l.id = @load AND r.breach = l.breach AND r.blob{bytewise} = l.blob";
        OvertakenLoadsQuery = $"SELECT r.id {OfSameBlob} WHERE r.id < l.id AND r.state IN ('ingesting', 'upserting', 'matching')";
    }

    public abstract string DisplayName { get; }

    /// <summary>
    /// Older loads of the same blob name that are not matched yet, and will not be published once this one is. This load takes over their
    /// notifications of subscribers that it finds too.
    /// </summary>
    private protected string OvertakenLoadsQuery { get; }

    // Loads r of the same breach and blob name as a load l, including itself.
    private string OfSameBlob { get; }

    private string OfVersion { get; }

    public abstract Task<(int Found, int Expected)> GetSchemaVersionAsync(CancellationToken cancellationToken);

    public abstract Task UpgradeAsync(CancellationToken cancellationToken);

    public abstract Task<(string Found, string Advice)?> CheckSetUpAsync(CancellationToken cancellationToken);

    public Task<StoreIdentity?> GetIdentityAsync(CancellationToken cancellationToken) => ReadAsync(ReadIdentityAsync, cancellationToken);

    public Task<StoreIdentity> AddIdentityAsync(StoreIdentity identity, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        await session.ExecuteAsync("""
            INSERT INTO dbo.store_identity (only_row, id, partition_spread, storage_accounts)
            SELECT 1, @id, @spread, @accounts WHERE NOT EXISTS (SELECT 1 FROM dbo.store_identity)
            """, Identity(identity));
        return (await ReadIdentityAsync(session))!;
    }, cancellationToken);

    public Task<bool> HasLoadsAsync(CancellationToken cancellationToken) =>
        ReadAsync(async session => await session.NumberAsync("SELECT highest_load FROM dbo.store_counters") > 0, cancellationToken);

    public Task<StoreIds> GetHighestIdsAsync(CancellationToken cancellationToken) => ReadAsync(
        async session => (await session.FirstAsync(
            "SELECT highest_load, highest_mark FROM dbo.store_counters",
            row => new StoreIds(row.Int64("highest_load"), row.Int32("highest_mark"))))!,
        cancellationToken);

    public Task MoveOnAsync(StoreIds ids, string heldBecause, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        // Replaces any other reason for which they are held: this one decides whether they are published.
        await session.ExecuteAsync("""
            UPDATE dbo.loads SET held_because = @because
            WHERE state <> 'done' AND published_at IS NULL AND replaced_by IS NULL AND removing = 0
            """, Line("@because", HoldReason.NotPublished + heldBecause));
        await session.ExecuteAsync($"{HoldLoads} WHERE state <> 'done'", Line("@because", heldBecause));
        await RaiseHighestAsync(session, ids);
    }, cancellationToken);

    public Task<bool> TryLockAsync(string name, string owner, TimeSpan lease, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            Parameter[] parameters = [VarChar("@name", name, 100), Owner(owner), FromNow("@until", lease)];
            var taken = await session.ExecuteAsync("""
                UPDATE dbo.locks SET owner = @owner, expires_at = @until
                WHERE name = @name AND (owner = @owner OR expires_at <= @now)
                """, parameters) == 1;
            // The second of two concurrent inserts violates the key and, retried, finds the first one's row.
            return taken || await session.ExecuteAsync("""
                INSERT INTO dbo.locks (name, owner, expires_at)
                SELECT @name, @owner, @until WHERE NOT EXISTS (SELECT 1 FROM dbo.locks WHERE name = @name)
                """, parameters) == 1;
        }, cancellationToken);

    public Task UnlockAsync(string name, string owner, CancellationToken cancellationToken) => WriteAsync(
        "DELETE FROM dbo.locks WHERE name = @name AND owner = @owner", cancellationToken, VarChar("@name", name, 100), Owner(owner));

    public abstract ValueTask DisposeAsync();

    /// <summary>Runs work that changes nothing; each statement reads a consistent state.</summary>
    private protected abstract Task<T> ReadAsync<T>(Func<ISqlSession, Task<T>> work, CancellationToken cancellationToken);

    /// <summary>Runs work in one transaction, which is committed as a whole or rolled back.</summary>
    /// <param name="isLong">True if its statements may process many rows, which allows a longer timeout.</param>
    private protected abstract Task<T> WriteAsync<T>(
        Func<ISqlSession, Task<T>> work, CancellationToken cancellationToken, bool isLong = false);

    /// <summary>Like <see cref="WriteAsync{T}"/>, to renew a lease: doesn't wait for a connection that other work holds.</summary>
    private protected virtual Task<T> RenewAsync<T>(Func<ISqlSession, Task<T>> work, CancellationToken cancellationToken) =>
        WriteAsync(work, cancellationToken);

    /// <summary>
    /// Like a long <see cref="WriteAsync{T}"/>, but also retries if the response to the commit was lost: the second argument tells the work
    /// that the previous attempt may have been committed, which it must check.
    /// </summary>
    private protected abstract Task<T> WriteWithCommitCheckAsync<T>(
        Func<ISqlSession, bool, Task<T>> work, CancellationToken cancellationToken);

    /// <summary>Limits a query, which is given without its SELECT, to a number of rows.</summary>
    private protected abstract string Limit(string query, string limit = "@limit");

    /// <summary>To be called after anything slow in its transaction: other transactions that insert an id wait for this row.</summary>
    private protected static Task<int> RaiseHighestAsync(ISqlSession session, StoreIds ids) => session.ExecuteAsync("""
        UPDATE dbo.store_counters SET highest_load = CASE WHEN highest_load < @highestLoad THEN @highestLoad ELSE highest_load END,
            highest_mark = CASE WHEN highest_mark < @highestMark THEN @highestMark ELSE highest_mark END
        WHERE highest_load < @highestLoad OR highest_mark < @highestMark
        """, BigInt("@highestLoad", ids.Load), Int("@highestMark", ids.Mark));

    private static Task<int> RaiseCatalogueVersionAsync(ISqlSession session) =>
        session.ExecuteAsync("UPDATE dbo.store_counters SET catalogue_version = catalogue_version + 1");

    // Records that the logged data of a breach or load has changed with the version that was just raised.
    private static Task<int> RaiseJournalVersionAsync(ISqlSession session, string table, string condition, params Parameter[] parameters) =>
        session.ExecuteAsync(
            $"UPDATE dbo.{table} SET log_version = (SELECT catalogue_version FROM dbo.store_counters) WHERE {condition}", parameters);

    private static Task<StoreIdentity?> ReadIdentityAsync(ISqlSession session) => session.FirstAsync(
        "SELECT id, partition_spread, storage_accounts FROM dbo.store_identity",
        row => new StoreIdentity(row.Guid("id"), row.Int32("partition_spread"), row.Int32("storage_accounts")));

    private protected Task WriteAsync(Func<ISqlSession, Task> work, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        await work(session);
        return true;
    }, cancellationToken);

    private Task WriteAsync(string sql, CancellationToken cancellationToken, params Parameter[] parameters) =>
        WriteAsync(session => session.ExecuteAsync(sql, parameters), cancellationToken);

    private Task<bool> TryWriteAsync(string sql, CancellationToken cancellationToken, params Parameter[] parameters) =>
        WriteAsync(async session => await session.ExecuteAsync(sql, parameters) == 1, cancellationToken);

    private Task<IReadOnlyList<T>> ListAsync<T>(
        string sql, Func<IRow, T> read, CancellationToken cancellationToken, params Parameter[] parameters) =>
        ReadAsync<IReadOnlyList<T>>(async session => await session.ListAsync(sql, read, parameters), cancellationToken);
}
