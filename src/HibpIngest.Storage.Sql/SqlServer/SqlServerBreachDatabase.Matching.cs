namespace HibpIngest.Storage.Sql.SqlServer;

public sealed partial class SqlServerBreachDatabase
{
    private const int IdsPerUpdate = 500;

    // Counts the rows of some positions per subscribed address and per subscribed domain. They are read once, and so are subscriptions of
    // addresses and those of domains, both hashed. The hints affect only the plan. A new load's positions lie beyond the last step of the
    // statistics histogram, so the optimizer would plan for one row: therefore the join order is forced (the hashed inputs are on the
    // left). "(SELECT @after)" hides the value from the optimizer of servers that ignore hints; SQL Server itself sees through it.
    private const string MatchSql = """
        SELECT a.id AS subscriber, d.match_domain AS domain, COUNT_BIG(*) AS accounts
        INTO #matches
        FROM (SELECT DISTINCT match_domain FROM dbo.subscribers WHERE match_alias IS NULL AND id <= @lastSubscriber) d
        RIGHT JOIN (
            (SELECT id, match_domain, match_alias FROM dbo.subscribers WHERE match_alias IS NOT NULL AND id <= @lastSubscriber) a
            RIGHT JOIN dbo.rows r ON r.domain = a.match_domain AND r.alias = a.match_alias)
            ON r.domain = d.match_domain
        WHERE r.load_id = @load AND r.position > (SELECT @after) AND r.position <= (SELECT @upTo)
            AND (a.id IS NOT NULL OR d.match_domain IS NOT NULL)
        GROUP BY a.id, d.match_domain
        OPTION (HASH JOIN, HASH GROUP, FORCE ORDER, RECOMPILE);
        """;

    private string RecordMatchesSql =>
        $"""
        UPDATE dbo.breaches SET name = name WHERE breach_key = (SELECT breach FROM dbo.loads WHERE id = @load);

        IF EXISTS ({OvertakenLoadsQuery})
            UPDATE dbo.notifications SET load_id = @load, number = NULL
            WHERE state = 'open' AND load_id IN ({OvertakenLoadsQuery}) AND subscriber IN (
                SELECT subscriber FROM #matches WHERE subscriber IS NOT NULL);

        INSERT INTO dbo.notifications (breach, subscriber, load_id, accounts, state)
        SELECT l.breach, m.subscriber, l.id, 1, 'open'
        FROM #matches m JOIN dbo.loads l ON l.id = @load JOIN dbo.subscribers s ON s.id = m.subscriber
        WHERE m.subscriber IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM dbo.notifications n WHERE n.breach = l.breach AND n.subscriber = m.subscriber)
        ORDER BY m.subscriber;

        UPDATE d SET accounts = d.accounts + m.accounts
        FROM dbo.load_domains d
        JOIN (SELECT domain, SUM(accounts) AS accounts FROM #matches WHERE domain IS NOT NULL GROUP BY domain) m
            ON m.domain = d.domain
        WHERE d.load_id = @load;

        INSERT INTO dbo.load_domains (load_id, domain, accounts)
        SELECT @load, m.domain, SUM(m.accounts)
        FROM #matches m
        WHERE m.domain IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM dbo.load_domains d WHERE d.load_id = @load AND d.domain = m.domain)
        GROUP BY m.domain;

        DROP TABLE #matches;
        """;

    // Any cheap hash that spreads accounts over the parts will do, if equal accounts get the same part (1369 = 37 * 37).
    private const string CountPartSql = $"""
        SELECT a.domain, COUNT_BIG(*) AS accounts
        INTO #exact
        FROM (
            SELECT DISTINCT domain, alias FROM dbo.rows
            WHERE load_id = @load
                AND (ASCII(alias) + 37 * ASCII(RIGHT(alias, 1))
                    + 1369 * ASCII(RIGHT(alias, 2)) + 7 * LEN(alias) + 13 * LEN(domain)) % @parts = @part) a
        GROUP BY a.domain
        OPTION (RECOMPILE);

        DECLARE @counted bigint = (SELECT COALESCE(SUM(accounts), 0) FROM #exact);
        UPDATE dbo.loads SET counted_parts = @part + 1, count_parts = @parts, counted = counted + @counted,
            accounts = CASE WHEN @part + 1 = @parts THEN counted + @counted ELSE accounts END, attempts = 0,
            lease_expires_at = CASE WHEN owner IS NOT NULL THEN @until END
        WHERE {IsMatched} AND counted_parts = @part AND count_parts IN (0, @parts);
        IF @@ROWCOUNT = 1
            UPDATE d SET exact = COALESCE(d.exact, 0) + e.accounts
            FROM dbo.load_domains d JOIN #exact e ON e.domain = d.domain
            WHERE d.load_id = @load;

        DROP TABLE #exact;
        """;

    public override Task<bool> MatchRowsAsync(LoadId load, long after, long upTo, TimeSpan lease, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            // This locks the load's row: if two workers match the same range, the second waits and then finds the range matched.
            if (!await TryAdvanceMatchAsync(session, load, after, upTo))
                return false;
            var lastSubscriber = await session.NumberAsync("SELECT last_subscriber FROM dbo.loads WHERE id = @load", OfLoad(load));
            // One round trip, because the temporary table lives only that long. The breach is locked only once the matches are known:
            // loads of one breach then add notifications one after the other.
            await session.ExecuteAsync(
                $"{MatchSql}\n{RecordMatchesSql}",
                OfLoad(load), BigInt("@after", after), BigInt("@upTo", upTo), BigInt("@lastSubscriber", lastSubscriber));
            await RecordProgressAsync(session, load, lease);
            return true;
        }, cancellationToken, isLong: true);

    private protected override Task<LoadState?> CountPartAsync(
        LoadId load, int part, int parts, TimeSpan lease, CancellationToken cancellationToken) => WriteAsync<LoadState?>(async session =>
    {
        await session.ExecuteAsync(CountPartSql, OfLoad(load), Int("@part", part), Int("@parts", parts), FromNow("@until", lease));
        return LoadState.Matching;
    }, cancellationToken, isLong: true);

    private protected override async Task NotifyDomainsAsync(ISqlSession session, LoadId load, long first, long last)
    {
        Parameter[] range = [OfLoad(load), BigInt("@first", first), BigInt("@last", last)];
        await session.ExecuteAsync($"""
            IF EXISTS ({OvertakenLoadsQuery})
                UPDATE dbo.notifications SET load_id = @load, number = NULL
                WHERE state = 'open' AND load_id IN ({OvertakenLoadsQuery}) AND subscriber IN (
                    SELECT s.id FROM dbo.subscribers s JOIN dbo.load_domains d ON d.load_id = @load AND d.domain = s.match_domain
                    WHERE s.id BETWEEN @first AND @last AND s.match_alias IS NULL);
            UPDATE n SET accounts = COALESCE(d.exact, d.accounts)
            FROM dbo.notifications n
            JOIN dbo.subscribers s ON s.id = n.subscriber
            JOIN dbo.load_domains d ON d.load_id = @load AND d.domain = s.match_domain
            WHERE s.id BETWEEN @first AND @last AND s.match_alias IS NULL AND n.load_id = @load AND n.state = 'open'
                AND n.breach = (SELECT breach FROM dbo.loads WHERE id = @load)
            """, range);
        await session.ExecuteAsync("""
            INSERT INTO dbo.notifications (breach, subscriber, load_id, accounts, state)
            SELECT l.breach, s.id, l.id, COALESCE(d.exact, d.accounts), 'open'
            FROM dbo.loads l
            JOIN dbo.load_domains d ON d.load_id = l.id
            JOIN dbo.subscribers s ON s.match_domain = d.domain AND s.match_alias IS NULL AND s.id BETWEEN @first AND @last
            WHERE l.id = @load AND NOT EXISTS (SELECT 1 FROM dbo.notifications n WHERE n.breach = l.breach AND n.subscriber = s.id)
            ORDER BY s.id
            """, range);
    }

    private protected override async Task EndDelaysAsync(ISqlSession session, IEnumerable<long> notifications)
    {
        foreach (var page in notifications.Chunk(IdsPerUpdate))
        {
            await session.ExecuteAsync(
                $"UPDATE dbo.notifications SET not_before = NULL WHERE state = 'open' AND id IN ({string.Join(',', page)})");
        }
    }

    private protected override string AddMillisecondsSql(string time, string milliseconds) =>
        $"DATEADD(millisecond, {milliseconds}, {time})";

    private protected override string MillisecondsUntilSql(string time) => $"DATEDIFF(millisecond, @now, {time})";
}
