namespace HibpIngest.Storage.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    // Maximum wait for readers in other processes before the write-ahead log is truncated.
    private static readonly TimeSpan EraseTimeout = TimeSpan.FromSeconds(20);

    public override Task<SubscribersImported> ImportSubscribersAsync(
        IReadOnlyCollection<Subscription> subscriptions, SuppressionKey? key, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            var (added, suppressed) = (0, 0);
            var isAnySuppressed = await HasSuppressionsAsync(session, key);
            foreach (var (email, domain) in subscriptions.Select(Normalise))
            {
                cancellationToken.ThrowIfCancellationRequested();
                if (isAnySuppressed && await session.AnyAsync(
                    "SELECT 1 FROM dbo.suppressions WHERE hash IN (@address, @subscription)",
                    VarChar("@address", key!.HashOf(email), HashLength),
                    VarChar("@subscription", key.HashOf(email, domain), HashLength)))
                {
                    suppressed++;
                    continue;
                }
                added += await InsertAsync(session, Guid.NewGuid(), email, domain);
            }
            return new SubscribersImported(added, suppressed);
        }, cancellationToken);

    private protected override Task AddSubscriberAsync(ISqlSession session, Guid id, string email, string domain) =>
        InsertAsync(session, id, email, domain);

    private static Task<int> InsertAsync(ISqlSession session, Guid id, string email, string domain)
    {
        var (matchDomain, matchAlias) = MatchedBy(email, domain);
        return session.ExecuteAsync("""
            INSERT INTO dbo.subscribers (link_id, email, domain, match_domain, match_alias)
            VALUES (@id, @email, @domain, @match_domain, @match_alias)
            ON CONFLICT (email, domain) DO NOTHING
            """, Id("@id", id), LongText("@email", email), LongText("@domain", domain),
            LongBytes("@match_domain", Encoding.UTF8.GetBytes(matchDomain)),
            LongBytes("@match_alias", matchAlias is null ? null : Encoding.UTF8.GetBytes(matchAlias)));
    }

    // Erasing rewrites the tables of subscribers and of requests, which takes some seconds for a million subscribers: where pages were
    // split, copies of rows remain in their free space, which a deletion doesn't overwrite. Freed pages belong to no table any more, so
    // every removal overwrites them: a subscriber who unsubscribes today may request erasure tomorrow.
    private protected override async Task<SubscribersRemoved> RemoveAsync(
        Func<ISqlSession, Task<SubscribersRemoved>> remove, bool erase, CancellationToken cancellationToken)
    {
        var removed = await WriteAsync(
            async session =>
            {
                var connection = (SqliteSession)session;
                connection.Script("PRAGMA secure_delete = ON; PRAGMA defer_foreign_keys = ON");
                try
                {
                    var result = await remove(session);
                    if (erase)
                        await RewriteTablesAsync(connection);
                    return result;
                }
                finally
                {
                    connection.Script("PRAGMA secure_delete = OFF");
                }
            },
            cancellationToken);
        if (erase)
            await TruncateWalAsync(cancellationToken);
        return removed;
    }

    // Rewrites the tables into pages that held none of their data. Emptying and refilling them is not enough: the first page of a table or
    // index is never freed, and keeps what is in its free space.
    private static async Task RewriteTablesAsync(SqliteSession session)
    {
        // The sequence is dropped with its table; it ensures that no id is reused.
        var lastId = await session.NumberAsync("SELECT seq FROM sqlite_sequence WHERE name = 'subscribers'");
        foreach (var (table, key) in ((string, string)[])[("subscribers", "id"), ("subscription_requests", "link_id")])
        {
            var schema = await session.ListAsync(
                $"SELECT sql FROM sqlite_master WHERE tbl_name = '{table}' AND sql IS NOT NULL ORDER BY type = 'table' DESC",
                row => row.Text("sql"));
            session.Script($"CREATE TABLE {table}_kept AS SELECT * FROM {table}; DROP TABLE {table}");
            foreach (var sql in schema)
                session.Script(sql);
            session.Script($"INSERT INTO {table} SELECT * FROM {table}_kept ORDER BY {key}; DROP TABLE {table}_kept");
        }
        await session.ExecuteAsync("DELETE FROM sqlite_sequence WHERE name = 'subscribers'");
        if (lastId is { } last)
            await session.ExecuteAsync("INSERT INTO sqlite_sequence (name, seq) VALUES ('subscribers', @last)", BigInt("@last", last));
    }

    /// <summary>Writes the write-ahead log into the file and truncates it, because it holds old versions of pages.</summary>
    /// <exception cref="UnavailableException">Another process is still reading the write-ahead log.</exception>
    private async Task TruncateWalAsync(CancellationToken cancellationToken)
    {
        await _writing.WaitAsync(cancellationToken);
        try
        {
            _opened.Check();
            var connection = _writer ??= await OpenWriterAsync(cancellationToken);
            var began = TimeProvider.System.GetTimestamp();
            while (!connection.TryTruncateWal())
            {
                if (TimeProvider.System.GetElapsedTime(began) > EraseTimeout)
                {
                    throw new UnavailableException($"the data is deleted, but the write-ahead log of '{_file}' still contains it, "
                        + "because another process is reading it: run the same command again in a moment");
                }
                await Task.Delay(MaxLockDelay, cancellationToken);
            }
        }
        finally
        {
            _writing.Release();
        }
    }
}
