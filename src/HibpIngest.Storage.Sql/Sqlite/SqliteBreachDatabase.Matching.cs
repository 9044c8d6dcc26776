using System.Runtime.InteropServices;

namespace HibpIngest.Storage.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    internal const string SubscribersSql =
        "SELECT id, match_domain, match_alias FROM dbo.subscribers WHERE id <= @lastSubscriber ORDER BY id";

    internal const string RowsSql = "SELECT domain, alias FROM dbo.rows WHERE id > @after AND id <= @upTo";

    private const string CountPartSql = """
        SELECT r.domain, COUNT(*), d.domain IS NOT NULL
        FROM (
            SELECT DISTINCT domain, alias FROM rows WHERE id > @load << 40 AND id < (@load + 1) << 40
                AND (unicode(CAST(alias AS TEXT)) + 37 * unicode(CAST(substr(alias, -1) AS TEXT))
                    + 1369 * unicode(CAST(substr(alias, -2) AS TEXT)) + 7 * length(alias) + 13 * length(domain)) % @parts = @part) r
        LEFT JOIN load_domains d ON d.load_id = @load AND d.domain = r.domain GROUP BY r.domain
        """;

    public override async Task<bool> MatchRowsAsync(LoadId load, long after, long upTo, TimeSpan lease, CancellationToken cancellationToken)
    {
        // Rows don't change once the load is matching. They are read concurrently with writers, and the result is written only if the range
        // is still to be matched.
        var matches = await ReadAsync(session => FindMatchesAsync((SqliteSession)session, load, after, upTo), cancellationToken);
        return matches is not null && await WriteAsync(
            async session =>
            {
                if (!await TryAdvanceMatchAsync(session, load, after, upTo))
                    return false;
                // A subscription may have been removed since it was found.
                await session.ExecuteAsync($"""
                    INSERT INTO dbo.notifications (breach, subscriber, load_id, accounts, state)
                    SELECT l.breach, s.id, l.id, 1, 'open'
                    FROM json_each(@subscribers) m CROSS JOIN dbo.subscribers s ON s.id = m.value CROSS JOIN dbo.loads l ON l.id = @load
                    WHERE true
                    ON CONFLICT (breach, subscriber) DO UPDATE SET load_id = excluded.load_id, number = NULL
                    WHERE state = 'open' AND load_id IN ({OvertakenLoadsQuery})
                    """, OfLoad(load), LongText("@subscribers", JsonSerializer.Serialize(matches.Subscribers)));
                foreach (var (subscriber, accounts) in matches.Domains)
                {
                    var recorded = await session.ExecuteAsync("""
                        INSERT INTO dbo.load_domains (load_id, domain, accounts)
                        SELECT @load, match_domain, @accounts FROM dbo.subscribers WHERE id = @subscriber
                        ON CONFLICT (load_id, domain) DO UPDATE SET accounts = accounts + excluded.accounts
                        """, OfLoad(load), BigInt("@subscriber", subscriber), BigInt("@accounts", accounts));
                    // The domain's first subscription was removed since it was found; another subscription may watch the same domain.
                    if (recorded == 0)
                    {
                        throw new UnavailableException(
                            "a subscription was removed while it was matched: the range is matched again");
                    }
                }
                await RecordProgressAsync(session, load, lease);
                return true;
            },
            cancellationToken);
    }

    private protected override async Task<LoadState?> CountPartAsync(
        LoadId load, int part, int parts, TimeSpan lease, CancellationToken cancellationToken)
    {
        // The rows are read concurrently with writers, as in MatchRowsAsync.
        var accounts = 0L;
        var domains = new List<(byte[] Domain, long Accounts)>();
        await ReadAsync(session =>
        {
            using var row = ((SqliteSession)session).Prepare(CountPartSql, OfLoad(load), Int("@part", part), Int("@parts", parts));
            while (row.Step())
            {
                accounts += row.Int64(1);
                if (row.Int64(2) != 0)
                    domains.Add((row.Blob(0).ToArray(), row.Int64(1)));
            }
            return Task.FromResult(true);
        }, cancellationToken);
        return await WriteAsync<LoadState?>(
            async session =>
            {
                if (!await session.AnyAsync($"SELECT 1 FROM dbo.loads WHERE {IsMatched}", OfLoad(load)))
                    return null;
                var changed = await session.ExecuteAsync("""
                    UPDATE dbo.loads SET counted_parts = @part + 1, count_parts = @parts, counted = counted + @counted,
                        accounts = CASE WHEN @part + 1 = @parts THEN counted + @counted ELSE accounts END
                    WHERE id = @load AND counted_parts = @part AND count_parts IN (0, @parts)
                    """, OfLoad(load), Int("@part", part), Int("@parts", parts), BigInt("@counted", accounts));
                foreach (var (domain, counted) in changed == 0 ? [] : domains)
                {
                    await session.ExecuteAsync(
                        "UPDATE dbo.load_domains SET exact = COALESCE(exact, 0) + @counted WHERE load_id = @load AND domain = @domain",
                        OfLoad(load), LongBytes("@domain", domain), BigInt("@counted", counted));
                }
                await RecordProgressAsync(session, load, lease);
                return LoadState.Matching;
            },
            cancellationToken);
    }

    private protected override Task NotifyDomainsAsync(ISqlSession session, LoadId load, long first, long last) => session.ExecuteAsync($"""
        INSERT INTO dbo.notifications (breach, subscriber, load_id, accounts, state)
        SELECT l.breach, s.id, l.id, COALESCE(d.exact, d.accounts), 'open'
        FROM dbo.loads l CROSS JOIN dbo.subscribers s JOIN dbo.load_domains d ON d.load_id = l.id AND d.domain = s.match_domain
        WHERE l.id = @load AND s.id BETWEEN @first AND @last AND s.match_alias IS NULL
        ON CONFLICT (breach, subscriber) DO UPDATE SET accounts = excluded.accounts, load_id = excluded.load_id,
            number = CASE WHEN load_id = excluded.load_id THEN number END
        WHERE state = 'open' AND (load_id = excluded.load_id OR load_id IN ({OvertakenLoadsQuery}))
        """, OfLoad(load), BigInt("@first", first), BigInt("@last", last));

    private protected override async Task EndDelaysAsync(ISqlSession session, IEnumerable<long> notifications)
    {
        foreach (var id in notifications)
        {
            await session.ExecuteAsync(
                "UPDATE dbo.notifications SET not_before = NULL WHERE state = 'open' AND id = @id", BigInt("@id", id));
        }
    }

    private protected override string AddMillisecondsSql(string time, string milliseconds) => $"{time} + {milliseconds}";

    private protected override string MillisecondsUntilSql(string time) => $"{time} - @now";

    // Returns null if the range is not to be matched now. Subscriptions are looked up in memory, some 50 bytes each: two index probes for
    // each row took four times as long. Rows of a domain are counted under its first subscription.
    private static async Task<Matches?> FindMatchesAsync(SqliteSession session, LoadId load, long after, long upTo)
    {
        var lastSubscriber = await session.NumberAsync(
            "SELECT last_subscriber FROM dbo.loads WHERE id = @load AND matched_position = @after AND state = 'matching'",
            OfLoad(load), BigInt("@after", after));
        if (lastSubscriber is null)
            return null;
        var subscribers = new Dictionary<UInt128, long>();
        using (var row = session.Prepare(SubscribersSql, BigInt("@lastSubscriber", lastSubscriber)))
        {
            while (row.Step())
            {
                var domain = row.Blob(1);
                subscribers.TryAdd(
                    row.IsNull(2) ? SeededAccountHash.ComputeDomain(domain) : SeededAccountHash.Compute(row.Blob(2), domain), row.Int64(0));
            }
        }
        var matches = new Matches([], []);
        using (var row = session.Prepare(RowsSql, BigInt("@after", RowId(load, after)), BigInt("@upTo", RowId(load, upTo))))
        {
            while (subscribers.Count > 0 && row.Step())
            {
                var domain = row.Blob(0);
                if (subscribers.TryGetValue(SeededAccountHash.Compute(row.Blob(1), domain), out var subscriber))
                    matches.Subscribers.Add(subscriber);
                if (subscribers.TryGetValue(SeededAccountHash.ComputeDomain(domain), out var owner))
                    CollectionsMarshal.GetValueRefOrAddDefault(matches.Domains, owner, out _)++;
            }
        }
        return matches;
    }

    private sealed record Matches(HashSet<long> Subscribers, Dictionary<long, long> Domains);
}
