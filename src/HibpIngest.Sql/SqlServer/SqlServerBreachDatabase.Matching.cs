using HibpIngest.Breaches;
using static HibpIngest.Sql.SqlServer.Parameter;
using static HibpIngest.Sql.StoredText;

namespace HibpIngest.Sql.SqlServer;

public sealed partial class SqlServerBreachDatabase
{
    /// <summary>
    /// The range is read once, and beside it the subscriptions of addresses and those of domains, once each, both of them hashed: per address subscribed and per domain, its rows. Nothing depends on
    /// the hints but the plan. What a server has seen of a load that has just come ends before the range, and it would plan for one row: so the order of the joins is said (what is hashed stands on the
    /// left), and where hints are not heeded the bounds, being queries, are not looked up in the statistics; SQL Server folds such queries into the values.
    /// </summary>
    private const string MatchSql =
        """
        CREATE TABLE #matches (subscriber bigint NULL, domain varchar(255) COLLATE Latin1_General_100_BIN2 NULL, accounts bigint NOT NULL);

        INSERT INTO #matches (subscriber, domain, accounts)
        SELECT a.id, d.match_domain, COUNT_BIG(*)
        FROM (SELECT DISTINCT match_domain FROM dbo.subscribers WHERE match_alias IS NULL AND id <= @lastSubscriber) d
        RIGHT JOIN (
            (SELECT id, match_domain, match_alias FROM dbo.subscribers WHERE match_alias IS NOT NULL AND id <= @lastSubscriber) a
            RIGHT JOIN dbo.rows r ON r.domain = a.match_domain AND r.alias = a.match_alias)
            ON r.domain = d.match_domain
        WHERE r.load_id = @load AND r.position > (SELECT @after) AND r.position <= (SELECT @upTo) AND (a.id IS NOT NULL OR d.match_domain IS NOT NULL)
        GROUP BY a.id, d.match_domain
        OPTION (HASH JOIN, HASH GROUP, FORCE ORDER, RECOMPILE);
        """;

    private const string RecordMatchesSql =
        """
        UPDATE dbo.breaches SET name = name WHERE breach_key = (SELECT breach FROM dbo.loads WHERE id = @load);

        INSERT INTO dbo.notifications (breach, subscriber, load_id, accounts, state)
        SELECT l.breach, m.subscriber, l.id, 1, 'open'
        FROM #matches m JOIN dbo.loads l ON l.id = @load
        WHERE m.subscriber IS NOT NULL AND NOT EXISTS (SELECT 1 FROM dbo.notifications n WHERE n.breach = l.breach AND n.subscriber = m.subscriber)
        ORDER BY m.subscriber;

        UPDATE d SET accounts = d.accounts + m.accounts
        FROM dbo.load_domains d
        JOIN (SELECT domain, SUM(accounts) AS accounts FROM #matches WHERE domain IS NOT NULL GROUP BY domain) m ON m.domain = d.domain
        WHERE d.load_id = @load;

        INSERT INTO dbo.load_domains (load_id, domain, accounts)
        SELECT @load, m.domain, SUM(m.accounts)
        FROM #matches m
        WHERE m.domain IS NOT NULL AND NOT EXISTS (SELECT 1 FROM dbo.load_domains d WHERE d.load_id = @load AND d.domain = m.domain)
        GROUP BY m.domain;

        DROP TABLE #matches;
        """;

    /// <summary>Counts each account of a load once, in one scan, by domain.</summary>
    private const string CountExactlySql =
        """
        CREATE TABLE #exact (domain varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL, accounts bigint NOT NULL);

        INSERT INTO #exact (domain, accounts)
        SELECT a.domain, COUNT_BIG(*) FROM (SELECT DISTINCT domain, alias FROM dbo.rows WHERE load_id = @load) a GROUP BY a.domain
        OPTION (RECOMPILE);

        UPDATE dbo.loads SET accounts = (SELECT COALESCE(SUM(accounts), 0) FROM #exact) WHERE id = @load AND state = 'matching' AND matched_position = last_position;

        UPDATE d SET accounts = e.accounts
        FROM dbo.load_domains d JOIN #exact e ON e.domain = d.domain JOIN dbo.loads l ON l.id = d.load_id
        WHERE d.load_id = @load AND l.state = 'matching' AND l.matched_position = l.last_position;

        DROP TABLE #exact;
        """;

    /// <inheritdoc/>
    public Task<bool> MatchRowsAsync(long load, long after, long upTo, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                // The load's row is held from here on: of two that match the same range the second waits, and then finds it matched.
                var changed = await session.ExecuteAsync(
                    "UPDATE dbo.loads SET matched_position = @upTo WHERE id = @load AND matched_position = @after AND state = 'matching'",
                    BigInt("@load", load), BigInt("@after", after), BigInt("@upTo", upTo));
                if (changed == 0)
                    return false;
                var lastSubscriber = await session.NumberAsync("SELECT last_subscriber FROM dbo.loads WHERE id = @load", BigInt("@load", load));
                // In one call, for a temporary table lives as long. The breach is held only when the matches are known: loads of one breach then add notifications one after the other.
                await session.ExecuteAsync(
                    $"{MatchSql}\n{RecordMatchesSql}", BigInt("@load", load), BigInt("@after", after), BigInt("@upTo", upTo), BigInt("@lastSubscriber", lastSubscriber));
                return true;
            },
            cancellationToken,
            _options.LongTimeout);

    /// <inheritdoc/>
    public async Task<LoadState?> FinishMatchingAsync(long load, bool hold, bool suppress, CancellationToken cancellationToken)
    {
        // Where duplicates may have passed, counting takes a sort of the whole load: in a transaction of its own, which holds nothing until it has counted. Counted again it is the same.
        var matched = await ReadAsync(
            session => session.NumberAsync(
                "SELECT CASE WHEN duplicates_possible = 1 THEN 1 ELSE 0 END FROM dbo.loads WHERE id = @load AND state = 'matching' AND matched_position = last_position", BigInt("@load", load)),
            cancellationToken);
        if (matched is null)
            return null;
        if (matched == 1)
            await WriteAsync(session => session.ExecuteAsync(CountExactlySql, BigInt("@load", load)), cancellationToken, _options.LongTimeout);
        return await WriteAsync(session => FinishMatchingAsync(session, load, hold, suppress), cancellationToken, _options.LongTimeout);
    }

    /// <inheritdoc/>
    public Task<bool> ReleaseLoadNotificationsAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(async session => await session.ExecuteAsync("UPDATE dbo.loads SET state = 'notifying' WHERE id = @load AND state = 'held' AND removing = 0", BigInt("@load", load)) == 1, cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Notification>> ListNotificationsAsync(long load, int first, int last, CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<Notification>>(
            async session => await session.ListAsync(
                $"{NotificationColumns} ORDER BY n.number", RowReaders.Notification, BigInt("@load", load), Int("@first", first), Int("@last", last)),
            cancellationToken);

    /// <inheritdoc/>
    public Task<(IReadOnlyList<Notification> Claimed, bool OthersHeld)> ClaimNotificationsAsync(
        long load, int first, int last, string owner, TimeSpan lease, CancellationToken cancellationToken) =>
        WriteAsync<(IReadOnlyList<Notification>, bool)>(
            async session =>
            {
                // A held load, or one that is being matched again, sends nothing, even if a message from before arrives.
                if (await session.NumberAsync("SELECT 1 FROM dbo.loads WHERE id = @load AND state = 'notifying'", BigInt("@load", load)) is null)
                    return ([], false);
                await session.ExecuteAsync(
                    """
                    UPDATE dbo.notifications SET claim_owner = @owner, claim_expires_at = DATEADD(millisecond, @lease, @now)
                    WHERE load_id = @load AND number BETWEEN @first AND @last AND state = 'open' AND (claim_owner IS NULL OR claim_owner = @owner OR claim_expires_at <= @now)
                        AND EXISTS (SELECT 1 FROM dbo.loads WHERE id = @load AND state = 'notifying')
                    """,
                    BigInt("@load", load), Int("@first", first), Int("@last", last), Owner(owner), Milliseconds("@lease", lease));
                var claimed = await session.ListAsync(
                    $"{NotificationColumns} AND n.state = 'open' AND n.claim_owner = @owner ORDER BY n.number",
                    RowReaders.Notification, BigInt("@load", load), Int("@first", first), Int("@last", last), Owner(owner));
                // Those whose claim has run out since count as held: the message comes again for them.
                var othersHeld = await session.NumberAsync(
                    """
                    SELECT TOP (1) 1 FROM dbo.notifications
                    WHERE load_id = @load AND number BETWEEN @first AND @last AND state = 'open' AND claim_owner <> @owner
                    """,
                    BigInt("@load", load), Int("@first", first), Int("@last", last), Owner(owner));
                return (claimed, othersHeld is not null);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> CompleteNotificationAsync(long notification, string owner, string? error, CancellationToken cancellationToken) =>
        // The mail has gone out: what is not recorded here goes out again. So it waits long for a lock, and asks again where the answer to its commit was lost.
        WriteSurelyAsync(
            async (session, inDoubt) => await session.ExecuteAsync(
                """
                UPDATE dbo.notifications SET state = @state, error = @error, completed_at = @now, claim_owner = NULL, claim_expires_at = NULL
                WHERE id = @notification AND state = 'open' AND (claim_owner IS NULL OR claim_owner = @owner OR claim_expires_at <= @now)
                """,
                BigInt("@notification", notification), Owner(owner), VarChar("@state", error is null ? "sent" : "failed", StateLength),
                LongText("@error", error is null ? null : OneLine(error))) == 1 || inDoubt,
            cancellationToken,
            _options.LongTimeout);

    /// <inheritdoc/>
    public Task ReleaseNotificationsAsync(long load, int first, int last, string owner, CancellationToken cancellationToken) =>
        WriteAsync(
            session => session.ExecuteAsync(
                "UPDATE dbo.notifications SET claim_owner = NULL, claim_expires_at = NULL WHERE load_id = @load AND number BETWEEN @first AND @last AND claim_owner = @owner",
                BigInt("@load", load), Int("@first", first), Int("@last", last), Owner(owner)),
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> TryFinishLoadAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                // Asked twice as in TryStartMatchingAsync: a matching that ends meanwhile holds the load's row, and has added notifications.
                const string Ready = "id = @load AND state = 'notifying' AND NOT EXISTS (SELECT 1 FROM dbo.notifications WHERE load_id = @load AND state = 'open')";
                return await session.NumberAsync($"SELECT 1 FROM dbo.loads WHERE {Ready}", BigInt("@load", load)) is not null
                    && await LockLoadRowAsync(session, load)
                    && await session.ExecuteAsync($"UPDATE dbo.loads SET state = 'done', finished_at = @now WHERE {Ready}", BigInt("@load", load)) == 1;
            },
            cancellationToken);

    private const string NotificationColumns =
        """
        SELECT n.id, n.number, s.email, s.domain, n.accounts FROM dbo.notifications n JOIN dbo.subscribers s ON s.id = n.subscriber
        WHERE n.load_id = @load AND n.number BETWEEN @first AND @last
        """;

    private static async Task<LoadState?> FinishMatchingAsync(SqlServerSession session, long load, bool hold, bool suppress)
    {
        // Held against a resume of the failed loads that notifications are taken from, against a match of the breach's other loads, and against this one's own end.
        await LockLoadAsync(session, load);
        if (await session.NumberAsync("SELECT 1 FROM dbo.loads WHERE id = @load AND state = 'matching' AND matched_position = last_position", BigInt("@load", load)) is null)
            return null;
        // Of the breach's failed loads, those restarted among them: what they had yet to send. A claim goes along, for a mail may be on its way.
        await session.ExecuteAsync(
            """
            UPDATE dbo.notifications SET load_id = @load, number = NULL
            WHERE state = 'open' AND load_id IN (SELECT f.id FROM dbo.loads f JOIN dbo.loads l ON l.breach = f.breach WHERE l.id = @load AND f.state = 'failed')
            """,
            BigInt("@load", load));
        await session.ExecuteAsync(
            """
            UPDATE n SET accounts = d.accounts
            FROM dbo.notifications n
            JOIN dbo.subscribers s ON s.id = n.subscriber
            JOIN dbo.loads l ON l.id = n.load_id
            JOIN dbo.load_domains d ON d.load_id = l.id AND d.domain = s.match_domain
            WHERE n.load_id = @load AND n.state = 'open' AND s.match_alias IS NULL AND s.id <= l.last_subscriber
            """,
            BigInt("@load", load));
        await session.ExecuteAsync(
            """
            INSERT INTO dbo.notifications (breach, subscriber, load_id, accounts, state)
            SELECT l.breach, s.id, l.id, d.accounts, 'open'
            FROM dbo.loads l
            JOIN dbo.load_domains d ON d.load_id = l.id
            JOIN dbo.subscribers s ON s.match_domain = d.domain AND s.match_alias IS NULL AND s.id <= l.last_subscriber
            WHERE l.id = @load AND NOT EXISTS (SELECT 1 FROM dbo.notifications n WHERE n.breach = l.breach AND n.subscriber = s.id)
            ORDER BY s.id
            """,
            BigInt("@load", load));
        if (suppress)
            await session.ExecuteAsync("DELETE FROM dbo.notifications WHERE load_id = @load AND state = 'open'", BigInt("@load", load));
        await NumberNotificationsAsync(session, load);
        await PublishAsync(session, load);

        var isOpen = await session.NumberAsync("SELECT TOP (1) 1 FROM dbo.notifications WHERE load_id = @load AND state = 'open'", BigInt("@load", load)) is not null;
        var state = !isOpen ? LoadState.Done : hold ? LoadState.Held : LoadState.Notifying;
        await session.ExecuteAsync(
            "UPDATE dbo.loads SET state = @state, finished_at = CASE WHEN @state = 'done' THEN @now END WHERE id = @load",
            BigInt("@load", load), VarChar("@state", ToText(state), StateLength));
        return state;
    }

    /// <summary>Makes a load's mark count, in the place of that of the published load of the same blob name, where there is one. The breach's row is held.</summary>
    private static async Task PublishAsync(SqlServerSession session, long load)
    {
        await session.ExecuteAsync(
            "UPDATE dbo.breaches SET published_at = COALESCE(published_at, @now) WHERE breach_key = (SELECT breach FROM dbo.loads WHERE id = @load)", BigInt("@load", load));
        await session.ExecuteAsync("UPDATE dbo.loads SET published_at = COALESCE(published_at, @now) WHERE id = @load", BigInt("@load", load));
        await session.ExecuteAsync(
            """
            UPDATE r SET published_at = NULL, replaced_by = l.id
            FROM dbo.loads r JOIN dbo.loads l ON l.id = @load AND r.breach = l.breach AND r.blob COLLATE Latin1_General_100_BIN2 = l.blob
            WHERE r.id < l.id AND r.published_at IS NOT NULL
            """,
            BigInt("@load", load));
        await RaiseCatalogueVersionAsync(session);
    }

    /// <summary>Numbers a load's notifications 1..n: those that have a number first, in its order, then the others; gaps close.</summary>
    private static Task<int> NumberNotificationsAsync(SqlServerSession session, long load) =>
        session.ExecuteAsync(
            """
            UPDATE n SET number = numbered.place
            FROM dbo.notifications n
            JOIN (
                SELECT id, CAST(ROW_NUMBER() OVER (ORDER BY CASE WHEN number IS NULL THEN 1 ELSE 0 END, number, id) AS int) AS place
                FROM dbo.notifications WHERE load_id = @load) numbered ON numbered.id = n.id
            WHERE n.number IS NULL OR n.number <> numbered.place
            """,
            BigInt("@load", load));
}
