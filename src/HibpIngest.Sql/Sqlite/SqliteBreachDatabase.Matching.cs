using HibpIngest.Breaches;
using static HibpIngest.Sql.StoredText;

namespace HibpIngest.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    /// <summary>
    /// For each row of a range that concerns anybody: the subscription of the address itself, and the first subscription of its domain. One scan of the rows, two probes
    /// of the subscribers' index for each (checked by a test).
    /// </summary>
    internal const string MatchSql =
        """
        SELECT a.id, (SELECT MIN(d.id) FROM subscribers d WHERE d.match_domain = r.domain AND d.match_alias IS NULL AND d.id <= ?3) AS domain_subscriber
        FROM rows r LEFT JOIN subscribers a ON a.match_domain = r.domain AND a.match_alias = r.alias AND a.id <= ?3
        WHERE r.id > ?1 AND r.id <= ?2 AND (a.id IS NOT NULL OR domain_subscriber IS NOT NULL)
        """;

    /// <inheritdoc/>
    public async Task<bool> MatchRowsAsync(long load, long after, long upTo, CancellationToken cancellationToken)
    {
        // Rows don't change once the load is matching. They are joined here, beside other writers, and the result is written only where the range is still to be matched.
        var matches = await ReadAsync(connection => FindMatches(connection, load, after, upTo), cancellationToken);
        return matches is not null && await WriteAsync(
            connection =>
            {
                if (connection.Execute("UPDATE loads SET matched_position = ?3 WHERE id = ?1 AND matched_position = ?2 AND state = 'matching'", load, after, upTo) == 0)
                    return false;
                foreach (var subscriber in matches.Subscribers)
                {
                    connection.Execute(
                        """
                        INSERT INTO notifications (breach, subscriber, load, accounts, state) SELECT breach, ?2, id, 1, 'open' FROM loads WHERE id = ?1
                        ON CONFLICT (breach, subscriber) DO NOTHING
                        """,
                        load, subscriber);
                }
                foreach (var (subscriber, accounts) in matches.Domains)
                {
                    connection.Execute(
                        """
                        INSERT INTO load_domains (load, domain, accounts) SELECT ?1, match_domain, ?3 FROM subscribers WHERE id = ?2
                        ON CONFLICT (load, domain) DO UPDATE SET accounts = accounts + excluded.accounts
                        """,
                        load, subscriber, accounts);
                }
                return true;
            },
            cancellationToken);
    }

    /// <inheritdoc/>
    public async Task<LoadState?> FinishMatchingAsync(long load, bool hold, bool suppress, CancellationToken cancellationToken)
    {
        // Again beside other writers: where duplicates may have passed, counting takes a sort of the whole load.
        var (matched, exact) = await ReadAsync(
            connection => IsMatched(connection, load)
                ? (true, connection.Number("SELECT duplicates_possible FROM loads WHERE id = ?1", load) == 1 ? CountExactly(connection, load) : null)
                : (false, null),
            cancellationToken);
        return !matched ? null : await WriteAsync<LoadState?>(
            connection =>
            {
                if (!IsMatched(connection, load))
                    return null;
                if (exact is not null)
                    RecordExactCounts(connection, load, exact);
                // Of the breach's failed loads, those restarted among them: what they had yet to send. A claim goes along, for a mail may be on its way.
                connection.Execute(
                    """
                    UPDATE notifications SET load = ?1, number = NULL
                    WHERE state = 'open' AND load IN (SELECT f.id FROM loads f JOIN loads l ON l.breach = f.breach WHERE l.id = ?1 AND f.state = 'failed')
                    """,
                    load);
                connection.Execute(
                    """
                    INSERT INTO notifications (breach, subscriber, load, accounts, state)
                    SELECT l.breach, s.id, l.id, d.accounts, 'open'
                    FROM loads l JOIN load_domains d ON d.load = l.id JOIN subscribers s ON s.match_domain = d.domain AND s.match_alias IS NULL AND s.id <= l.last_subscriber
                    WHERE l.id = ?1
                    ON CONFLICT (breach, subscriber) DO UPDATE SET accounts = excluded.accounts WHERE state = 'open' AND load = excluded.load
                    """,
                    load);
                if (suppress)
                    connection.Execute("DELETE FROM notifications WHERE load = ?1 AND state = 'open'", load);
                NumberNotifications(connection, load);
                Publish(connection, load);

                var state = CountNotifications(connection, load).Open == 0 ? LoadState.Done : hold ? LoadState.Held : LoadState.Notifying;
                connection.Execute(
                    "UPDATE loads SET state = ?2, finished_at = ?3 WHERE id = ?1", load, ToText(state), state == LoadState.Done ? Now : null);
                return state;
            },
            cancellationToken);
    }

    /// <inheritdoc/>
    public Task<bool> ReleaseLoadNotificationsAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(connection => connection.Execute("UPDATE loads SET state = 'notifying' WHERE id = ?1 AND state = 'held' AND NOT removing", load) == 1, cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Notification>> ListNotificationsAsync(long load, int first, int last, CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<Notification>>(connection => ListNotifications(connection, "1", load, first, last), cancellationToken);

    /// <inheritdoc/>
    public Task<(IReadOnlyList<Notification> Claimed, bool OthersHeld)> ClaimNotificationsAsync(
        long load, int first, int last, string owner, TimeSpan lease, CancellationToken cancellationToken) =>
        WriteAsync<(IReadOnlyList<Notification>, bool)>(
            connection =>
            {
                // A held load, or one that is being matched again, sends nothing, even if a message from before arrives.
                if (connection.Number("SELECT 1 FROM loads WHERE id = ?1 AND state = 'notifying'", load) is null)
                    return ([], false);
                connection.Execute(
                    """
                    UPDATE notifications SET claim_owner = ?4, claim_expires_at = ?5
                    WHERE load = ?1 AND number BETWEEN ?2 AND ?3 AND state = 'open' AND (claim_owner IS NULL OR claim_owner = ?4 OR claim_expires_at <= ?6)
                    """,
                    load, first, last, owner, Now + lease, Now);
                var claimed = ListNotifications(connection, "n.state = 'open' AND n.claim_owner = ?4", load, first, last, owner);
                var othersHeld = connection.Number(
                    """
                    SELECT 1 FROM notifications
                    WHERE load = ?1 AND number BETWEEN ?2 AND ?3 AND state = 'open' AND claim_owner <> ?4 AND claim_expires_at > ?5 LIMIT 1
                    """,
                    load, first, last, owner, Now);
                return (claimed, othersHeld is not null);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> CompleteNotificationAsync(long notification, string owner, string? error, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                """
                UPDATE notifications SET state = ?3, error = ?4, completed_at = ?5, claim_owner = NULL, claim_expires_at = NULL
                WHERE id = ?1 AND state = 'open' AND (claim_owner IS NULL OR claim_owner = ?2 OR claim_expires_at <= ?5)
                """,
                notification, owner, error is null ? "sent" : "failed", error is null ? null : OneLine(error), Now) == 1,
            cancellationToken);

    /// <inheritdoc/>
    public Task ReleaseNotificationsAsync(long load, int first, int last, string owner, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                "UPDATE notifications SET claim_owner = NULL, claim_expires_at = NULL WHERE load = ?1 AND number BETWEEN ?2 AND ?3 AND claim_owner = ?4", load, first, last, owner),
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> TryFinishLoadAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                """
                UPDATE loads SET state = 'done', finished_at = ?2
                WHERE id = ?1 AND state = 'notifying' AND NOT EXISTS (SELECT 1 FROM notifications WHERE load = ?1 AND state = 'open')
                """,
                load, Now) == 1,
            cancellationToken);

    /// <summary>Makes a load's mark count, in the place of that of the published load of the same blob name, where there is one.</summary>
    private void Publish(DatabaseConnection connection, long load)
    {
        connection.Execute("UPDATE breaches SET published_at = COALESCE(published_at, ?2) WHERE key = (SELECT breach FROM loads WHERE id = ?1)", load, Now);
        connection.Execute("UPDATE loads SET published_at = COALESCE(published_at, ?2) WHERE id = ?1", load, Now);
        connection.Execute(
            """
            UPDATE loads SET published_at = NULL, replaced_by = ?1
            WHERE id < ?1 AND published_at IS NOT NULL AND (breach, blob) = (SELECT breach, blob FROM loads WHERE id = ?1)
            """,
            load);
        connection.Execute("UPDATE store_counters SET catalogue_version = catalogue_version + 1");
    }

    /// <summary>The subscriptions of single addresses that the rows concern, and rows by the first subscription of their domain. Null: the range is not to be matched now.</summary>
    private static Matches? FindMatches(DatabaseConnection connection, long load, long after, long upTo)
    {
        if (connection.Number("SELECT last_subscriber FROM loads WHERE id = ?1 AND matched_position = ?2 AND state = 'matching'", load, after) is not { } lastSubscriber)
            return null;
        var matches = new Matches([], []);
        using var row = connection.Prepare(MatchSql, RowId(load, after), RowId(load, upTo), lastSubscriber);
        while (row.Step())
        {
            if (!row.IsNull(0))
                matches.Subscribers.Add(row.Int64(0));
            if (!row.IsNull(1))
                matches.Domains[row.Int64(1)] = matches.Domains.GetValueOrDefault(row.Int64(1)) + 1;
        }
        return matches;
    }

    private static bool IsMatched(DatabaseConnection connection, long load) =>
        connection.Number("SELECT 1 FROM loads WHERE id = ?1 AND state = 'matching' AND matched_position = last_position", load) is not null;

    private static ExactCounts CountExactly(DatabaseConnection connection, long load)
    {
        var accounts = connection.Number("SELECT COUNT(*) FROM (SELECT DISTINCT domain, alias FROM rows WHERE id BETWEEN ?1 AND ?2)", RowId(load, 0), RowId(load, MaxPosition))!.Value;
        var domains = new List<(byte[] Domain, long Accounts)>();
        using var row = connection.Prepare(
            """
            SELECT domain, COUNT(DISTINCT alias) FROM rows WHERE id BETWEEN ?1 AND ?2 AND domain IN (SELECT domain FROM load_domains WHERE load = ?3) GROUP BY domain
            """,
            RowId(load, 0), RowId(load, MaxPosition), load);
        while (row.Step())
            domains.Add((row.Blob(0).ToArray(), row.Int64(1)));
        return new ExactCounts(accounts, domains);
    }

    private static void RecordExactCounts(DatabaseConnection connection, long load, ExactCounts counts)
    {
        connection.Execute("UPDATE loads SET accounts = ?2 WHERE id = ?1", load, counts.Accounts);
        foreach (var (domain, accounts) in counts.Domains)
            connection.Execute("UPDATE load_domains SET accounts = ?3 WHERE load = ?1 AND domain = ?2", load, domain, accounts);
    }

    /// <summary>Numbers a load's notifications 1..n: those that have a number first, in its order, then the others; gaps close.</summary>
    private static void NumberNotifications(DatabaseConnection connection, long load) =>
        connection.Execute(
            """
            UPDATE notifications SET number = numbered.place
            FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY number IS NULL, number, id) AS place FROM notifications WHERE load = ?1) AS numbered
            WHERE notifications.id = numbered.id AND notifications.number IS NOT numbered.place
            """,
            load);

    private static List<Notification> ListNotifications(DatabaseConnection connection, string condition, params ReadOnlySpan<object?> values)
    {
        using var row = connection.Prepare(
            $"""
            SELECT n.id, n.number, s.email, s.domain, n.accounts FROM notifications n JOIN subscribers s ON s.id = n.subscriber
            WHERE n.load = ?1 AND n.number BETWEEN ?2 AND ?3 AND {condition} ORDER BY n.number
            """,
            values);
        var notifications = new List<Notification>();
        while (row.Step())
            notifications.Add(RowReaders.Notification(row));
        return notifications;
    }

    private sealed record Matches(HashSet<long> Subscribers, Dictionary<long, long> Domains);

    private sealed record ExactCounts(long Accounts, List<(byte[] Domain, long Accounts)> Domains);
}
