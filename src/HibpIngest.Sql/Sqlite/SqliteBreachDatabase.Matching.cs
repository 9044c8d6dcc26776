using HibpIngest.Breaches;
using HibpIngest.Stores;
using static HibpIngest.Sql.StoredText;

namespace HibpIngest.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    /// <summary>
    /// For each row of a range that concerns anybody: the subscription of the address itself, and the first
    /// subscription of its domain. One scan of the rows, two probes of the subscribers' index for each (checked
    /// by a test).
    /// </summary>
    internal const string MatchSql =
        """
        SELECT a.id, (SELECT MIN(d.id) FROM subscribers d WHERE d.match_domain = r.domain AND d.match_alias IS NULL AND d.id <= ?3) AS domain_subscriber
        FROM rows r LEFT JOIN subscribers a ON a.match_domain = r.domain AND a.match_alias = r.alias AND a.id <= ?3
        WHERE r.id > ?1 AND r.id <= ?2 AND (a.id IS NOT NULL OR domain_subscriber IS NOT NULL)
        """;

    /// <summary>
    /// Older loads of the same blob name that are not matched yet, and never will be published once this one is: what
    /// they have found, and this one finds too, this one tells.
    /// </summary>
    private const string Overtaken =
        """
        SELECT o.id FROM loads o WHERE o.id < ?1 AND o.state IN ('ingesting', 'upserting', 'matching') AND (o.breach,
            o.blob) = (SELECT breach, blob FROM loads WHERE id = ?1)
        """;

    /// <inheritdoc/>
    public async Task<bool> MatchRowsAsync(long load, long after, long upTo, TimeSpan lease, CancellationToken cancellationToken)
    {
        // Rows don't change once the load is matching. They are joined here, beside other writers, and the
        // result is written only where the range is still to be matched.
        var matches = await ReadAsync(connection => FindMatches(connection, load, after, upTo), cancellationToken);
        return matches is not null && await WriteAsync(
            connection =>
            {
                if (connection.Execute("UPDATE loads SET matched_position = ?3 WHERE id = ?1 AND matched_position = ?2 AND state = 'matching'", load, after, upTo) == 0)
                    return false;
                foreach (var subscriber in matches.Subscribers)
                {
                    connection.Execute(
                        $"""
                        INSERT INTO notifications (breach, subscriber, load, accounts, state) SELECT breach, ?2, id, 1, 'open' FROM loads WHERE id = ?1
                        ON CONFLICT (breach, subscriber) DO UPDATE SET load = excluded.load, number = NULL WHERE state = 'open'
                            AND load IN ({Overtaken})
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
                GetOn(connection, load, lease);
                return true;
            },
            cancellationToken);
    }

    /// <inheritdoc/>
    public async Task<LoadState?> FinishMatchingAsync(long load, MatchEnd end, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(end.StepRows, 1);
        ArgumentOutOfRangeException.ThrowIfLessThan(end.CountRows, 1);
        // Again beside other writers: where duplicates may have passed, counting takes a sort of a part of the load's accounts.
        var (matched, part) = await ReadAsync(
            connection => IsMatched(connection, load) ? (true, FindUncounted(connection, load, end) is var (uncounted, of)
                ? CountPart(connection, load, uncounted, of) : null) : (false, null),
            cancellationToken);
        return !matched ? null : await WriteAsync<LoadState?>(
            connection =>
            {
                if (!IsMatched(connection, load))
                    return null;
                if (part is null)
                    return FinishStep(connection, load, end);
                RecordPart(connection, load, part);
                GetOn(connection, load, end.Lease);
                return LoadState.Matching;
            },
            cancellationToken);
    }

    /// <inheritdoc/>
    public Task<bool> ReleaseLoadNotificationsAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                "UPDATE loads SET state = 'notifying', held_because = NULL, mails_queued = 0, message_sent_at = NULL WHERE id = ?1 AND state = 'held' AND NOT removing", load) == 1,
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<long>> HoldLoadsAsync(string breach, string because, CancellationToken cancellationToken) =>
        WriteAsync<IReadOnlyList<long>>(
            connection =>
            {
                var key = connection.Number("SELECT key FROM breaches WHERE folded_name = ?1",
                    Fold(breach)) ?? throw Refusals.NoBreach(breach);
                connection.Execute(
                    """
                    UPDATE loads SET held_because = COALESCE(held_because, ?2),
                        state = CASE state WHEN 'notifying' THEN 'held' ELSE state END,
                        failed_in = CASE failed_in WHEN 'notifying' THEN 'held' ELSE failed_in END
                    WHERE breach = ?1 AND state <> 'done'
                    """,
                    key, OneLine(because));
                return ListNumbers(connection, "SELECT id FROM loads WHERE breach = ?1 AND state = 'held' AND NOT removing ORDER BY id", key);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Notification>> ListNotificationsAsync(long load, int first, int last, CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<Notification>>(connection => ListNotifications(connection, "1", load, first, last), cancellationToken);

    /// <inheritdoc/>
    public Task<MailProgress?> GetMailProgressAsync(long load, CancellationToken cancellationToken) =>
        ReadAsync(
            connection =>
            {
                using var row = connection.Prepare(MailProgressSql, load);
                return row.Step() ? new MailProgress(row.Boolean(0), row.Int32(1), row.IsNull(2) ? null : row.Int32(2),
                    row.Int32(3)) : null;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> TryQueueMailsAsync(long load, int from, int to, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                "UPDATE loads SET mails_queued = ?3, message_sent_at = ?4 WHERE id = ?1 AND mails_queued = ?2 AND state = 'notifying'",
                    load, from, to, Now) == 1,
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> TryRestartMailsAsync(long load, TimeSpan age, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                """
                UPDATE loads SET mails_queued = 0, message_sent_at = ?3
                WHERE id = ?1 AND state = 'notifying' AND (message_sent_at IS NULL OR message_sent_at <= ?2)
                    AND breach IN (SELECT key FROM breaches WHERE hidden = 0)
                """,
                load, Now - age, Now) == 1,
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<int>> TakeDueNotificationsAsync(long load, int most, CancellationToken cancellationToken) =>
        WriteAsync<IReadOnlyList<int>>(
            connection =>
            {
                if (!MaySend(connection, load))
                    return [];
                var numbers = new List<int>();
                using (var row = connection.Prepare(
                    "SELECT number FROM notifications WHERE load = ?1 AND state = 'open' AND not_before IS NOT NULL AND not_before <= ?2 ORDER BY not_before LIMIT ?3", load, Now, most))
                {
                    while (row.Step())
                        numbers.Add(row.Int32(0));
                }
                numbers.Sort();
                foreach (var number in numbers)
                    connection.Execute("UPDATE notifications SET not_before = NULL WHERE load = ?1 AND number = ?2 AND state = 'open'",
                        load, number);
                return numbers;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<NotificationClaims> ClaimNotificationsAsync(long load, int first, int last, ClaimOrder order,
        CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                // A held load, or one that is being matched again, sends nothing, even if a message from before arrives.
                if (!MaySend(connection, load))
                    return NotificationClaims.None;
                var now = Now;
                var claimable = (int)connection.Number(
                    $"SELECT COUNT(*) FROM (SELECT 1 FROM notifications WHERE {Claimable} LIMIT ?6)", load, first, last, order.Owner, now,
                        (long)order.Most + 1)!.Value;
                var most = Math.Min(claimable, order.Most);
                var startsIn = TimeSpan.Zero;
                if (most > 0 && !TryReserve(connection, most, order, now, out startsIn))
                    return NotificationClaims.None with { NoneBefore = startsIn };
                connection.Execute(
                    $"""
                    UPDATE notifications SET claim_owner = ?4, claim_expires_at = ?7, attempts = attempts + 1
                    WHERE id IN (SELECT id FROM notifications WHERE {Claimable} ORDER BY number LIMIT ?6)
                    """,
                    load, first, last, order.Owner, now, most, now + order.Lease);
                var claimed = ListNotifications(connection, "n.state = 'open' AND n.claim_owner = ?4", load, first, last, order.Owner);
                var othersHeld = connection.Number(
                    """
                    SELECT 1 FROM notifications
                    WHERE load = ?1 AND number BETWEEN ?2 AND ?3 AND state = 'open' AND claim_owner <> ?4 AND claim_expires_at > ?5 LIMIT 1
                    """,
                    load, first, last, order.Owner, now);
                return new NotificationClaims(claimed, othersHeld is not null) { StartsIn = startsIn, More = claimable > most };
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<NotificationEnd> CompleteNotificationAsync(long notification, string owner, string? error,
        CancellationToken cancellationToken) =>
        WriteAsync(
            connection => new NotificationEnd(
                connection.Execute(
                    $"UPDATE notifications SET state = ?4, error = ?5, completed_at = ?3, not_before = NULL, claim_owner = NULL, claim_expires_at = NULL WHERE {Endable}",
                    notification, owner, Now, error is null ? "sent" : "failed", error is null ? null : OneLine(error)) == 1,
                MayGoOn(connection, notification)),
            cancellationToken);

    /// <inheritdoc/>
    public Task<NotificationEnd> DeferNotificationAsync(long notification, string owner, string error, TimeSpan delay, TimeSpan giveUpAfter,
        CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                var now = Now;
                var recorded = connection.Execute(
                    $"""
                    UPDATE notifications SET state = CASE WHEN deferred_since <= ?6 THEN 'failed' ELSE state END,
                        completed_at = CASE WHEN deferred_since <= ?6 THEN ?3 END, error = ?4,
                        not_before = CASE WHEN deferred_since <= ?6 THEN NULL ELSE ?5 END, deferrals = deferrals + 1,
                            deferred_since = COALESCE(deferred_since, ?3), attempts = 0,
                        claim_owner = NULL, claim_expires_at = NULL
                    WHERE {Endable}
                    """,
                    notification, owner, now, OneLine(error), now + delay, now - giveUpAfter) == 1;
                var refused = recorded && connection.Number("SELECT 1 FROM notifications WHERE id = ?1 AND state = 'failed'",
                    notification) is not null;
                return new NotificationEnd(recorded, MayGoOn(connection, notification), refused);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task ReleaseNotificationsAsync(long load, int first, int last, string owner, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                """
                UPDATE notifications SET claim_owner = NULL, claim_expires_at = NULL, attempts = 0
                WHERE load = ?1 AND number BETWEEN ?2 AND ?3 AND state = 'open' AND claim_owner = ?4
                """,
                load, first, last, owner),
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

    /// <summary>Probes of indexes, whatever the load has (checked by a test).</summary>
    internal const string MailProgressSql =
        """
        SELECT l.state = 'notifying' AND b.hidden = 0, l.mails_queued, (SELECT MIN(number) FROM notifications WHERE load = ?1
            AND state = 'open' AND not_before IS NULL),
            COALESCE((SELECT MAX(number) FROM notifications WHERE load = ?1), 0)
        FROM loads l JOIN breaches b ON b.key = l.breach WHERE l.id = ?1
        """;

    private const string Claimable =
        """
        load = ?1 AND number BETWEEN ?2 AND ?3 AND state = 'open' AND (not_before IS NULL OR not_before <= ?5)
            AND (claim_owner IS NULL OR claim_owner = ?4 OR claim_expires_at <= ?5)
        """;

    private const string Endable = "id = ?1 AND state = 'open' AND (claim_owner IS NULL OR claim_owner = ?2 OR claim_expires_at <= ?3)";

    /// <summary>The load's state, and its breach isn't hidden.</summary>
    private static bool MaySend(SqliteSession connection, long load) =>
        connection.Number("SELECT 1 FROM loads l JOIN breaches b ON b.key = l.breach WHERE l.id = ?1 AND l.state = 'notifying' AND b.hidden = 0", load) is not null;

    private static bool MayGoOn(SqliteSession connection, long notification) =>
        connection.Number("SELECT load FROM notifications WHERE id = ?1", notification) is { } load && MaySend(connection, load);

    /// <summary>
    /// The time that mails take at the system's rate, from when it is free on; false: not before
    /// <paramref name="startsIn"/>.
    /// </summary>
    private static bool TryReserve(SqliteSession connection, int mails, ClaimOrder order, DateTimeOffset now, out TimeSpan startsIn)
    {
        var takes = MailRate.Of(mails, order.PerSecond);
        // What lies further ahead than anybody reserves is a clock that was set back.
        var free = connection.Number("SELECT next_at FROM mail_rate")!.Value is var next
            && DateTimeOffset.FromUnixTimeMilliseconds(next) is var at && at > now && at <= now + MailRate.Furthest
            ? at
            : now;
        startsIn = free - now;
        if (startsIn > order.Ahead)
            return false;
        connection.Execute("UPDATE mail_rate SET next_at = ?1", free + takes);
        return true;
    }

    /// <summary>The load has got on; its lease lasts from now on, where somebody holds it.</summary>
    private void GetOn(SqliteSession connection, long load, TimeSpan lease) =>
        connection.Execute("UPDATE loads SET attempts = 0, lease_expires_at = CASE WHEN owner IS NOT NULL THEN ?2 END WHERE id = ?1", load,
            Now + lease);

    /// <summary>One step of the end of matching behind the counts, or, where there is little to do, all of it.</summary>
    private LoadState FinishStep(SqliteSession connection, long load, MatchEnd end)
    {
        var (breach, before) = BreachOf(connection, load);
        var metadata = end.Metadata is { } document ? Merge(document, before, byOperator: false) : before;
        var newer = connection.Number(
            "SELECT MAX(id) FROM loads WHERE id > ?1 AND published_at IS NOT NULL AND (breach, blob) = (SELECT breach, blob FROM loads WHERE id = ?1)", load);
        var left = end.StepRows;
        if (newer is not null || metadata.Flags.HasFlag(BreachFlags.Retired))
        {
            left -= connection.Execute("DELETE FROM notifications WHERE id IN (SELECT id FROM notifications WHERE load = ?1 AND state = 'open' LIMIT ?2)", load, left);
        }
        else
        {
            left -= TakeOver(connection, load, left);
            left -= left > 0 ? TellDomains(connection, load, left) : 0;
            left -= left > 0 ? NumberNotifications(connection, load, left) : 0;
        }
        if (left <= 0)
        {
            GetOn(connection, load, end.Lease);
            return LoadState.Matching;
        }

        if (end.Metadata is { } merged)
            MergeMetadata(connection, breach, merged, byOperator: false);
        if (newer is null)
            Publish(connection, load);
        if (end.HeldBecause is { } because)
            connection.Execute("UPDATE loads SET held_because = COALESCE(held_because, ?2) WHERE id = ?1", load, OneLine(because));
        var isHeld = connection.Number("SELECT 1 FROM loads WHERE id = ?1 AND held_because IS NOT NULL", load) is not null;
        var isOpen = connection.Number("SELECT 1 FROM notifications WHERE load = ?1 AND state = 'open' LIMIT 1", load) is not null;
        var state = newer is not null ? LoadState.Done : isHeld || (isOpen && end.Holds(metadata)) ? LoadState.Held : isOpen
            ? LoadState.Notifying : LoadState.Done;
        connection.Execute(
            """
            UPDATE loads SET state = ?2, replaced_by = COALESCE(?4, replaced_by), finished_at = ?3, owner = NULL,
                lease_expires_at = NULL, attempts = 0, message_sent_at = NULL, mails_queued = 0
            WHERE id = ?1
            """,
            load, ToText(state), state == LoadState.Done ? Now : null, newer);
        return state;
    }

    private static (string Name, BreachMetadata Metadata) BreachOf(SqliteSession connection, long load)
    {
        using var row = connection.Prepare("SELECT b.name, b.metadata FROM breaches b JOIN loads l ON l.breach = b.key WHERE l.id = ?1",
            load);
        row.Step();
        return (row.Text(0), ToMetadata(row.Text(1)));
    }

    /// <summary>
    /// Of the breach's failed loads, those restarted among them: what they had yet to send. A claim goes along, for a
    /// mail may be on its way; and so does that it was held.
    /// </summary>
    private static int TakeOver(SqliteSession connection, long load, int most)
    {
        var taken = 0;
        while (taken < most && connection.Number(
            """
            SELECT MIN(f.id) FROM loads f WHERE f.breach = (SELECT breach FROM loads WHERE id = ?1) AND f.state = 'failed'
                AND EXISTS (SELECT 1 FROM notifications n WHERE n.load = f.id AND n.state = 'open')
            """,
            load) is { } failed)
        {
            connection.Execute(
                """
                UPDATE loads SET held_because = COALESCE(held_because, ?3)
                WHERE id = ?1 AND EXISTS (SELECT 1 FROM loads WHERE id = ?2 AND (failed_in = 'held' OR held_because IS NOT NULL))
                """,
                load, failed, HeldWith(failed));
            taken += connection.Execute(
                "UPDATE notifications SET load = ?1, number = NULL WHERE id IN (SELECT id FROM notifications WHERE load = ?2 AND state = 'open' LIMIT ?3)", load, failed, most - taken);
        }
        return taken;
    }

    /// <summary>
    /// Notifications for the next subscriptions of whole domains; returns how many subscriptions were looked
    /// at.
    /// </summary>
    private static int TellDomains(SqliteSession connection, long load, int most)
    {
        var told = connection.Number("SELECT told_subscriber FROM loads WHERE id = ?1", load)!.Value;
        // On to the next one that there is.
        if (connection.Number("SELECT MIN(id) FROM subscribers WHERE id > ?2 AND id <= (SELECT last_subscriber FROM loads WHERE id = ?1)",
            load, told) is not { } next)
            return 0;
        var upTo = Math.Min(next - 1 + most, connection.Number("SELECT last_subscriber FROM loads WHERE id = ?1", load)!.Value);
        connection.Execute(
            $"""
            INSERT INTO notifications (breach, subscriber, load, accounts, state)
            SELECT l.breach, s.id, l.id, COALESCE(d.exact, d.accounts), 'open'
            FROM loads l CROSS JOIN subscribers s JOIN load_domains d ON d.load = l.id AND d.domain = s.match_domain
            WHERE l.id = ?1 AND s.id BETWEEN ?2 AND ?3 AND s.match_alias IS NULL
            ON CONFLICT (breach, subscriber) DO UPDATE SET accounts = excluded.accounts, load = excluded.load,
                number = CASE WHEN load = excluded.load THEN number END
            WHERE state = 'open' AND (load = excluded.load OR load IN ({Overtaken}))
            """,
            load, next, upTo);
        connection.Execute("UPDATE loads SET told_subscriber = ?2 WHERE id = ?1", load, upTo);
        return (int)(upTo - next + 1);
    }

    /// <summary>
    /// Makes a load's mark count, in the place of that of the published load of the same blob name, where there
    /// is one.
    /// </summary>
    private void Publish(SqliteSession connection, long load)
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

    /// <summary>
    /// The subscriptions of single addresses that the rows concern, and rows by the first subscription of their
    /// domain. Null: the range is not to be matched now.
    /// </summary>
    private static Matches? FindMatches(SqliteSession connection, long load, long after, long upTo)
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

    private static bool IsMatched(SqliteSession connection, long load) =>
        connection.Number("SELECT 1 FROM loads WHERE id = ?1 AND state = 'matching' AND matched_position = last_position", load) is not null;

    /// <summary>The part of an exact count that is next, and of how many; null: all are counted, or nothing is to be.</summary>
    private static (int Part, int Of)? FindUncounted(SqliteSession connection, long load, MatchEnd end)
    {
        using var row = connection.Prepare("SELECT counted_parts, count_parts, last_position FROM loads WHERE id = ?1 AND duplicates_possible", load);
        if (!row.Step())
            return null;
        var (counted, of) = (row.Int32(0), row.Int32(1) > 0 ? row.Int32(1) : end.CountParts(row.Int64(2)));
        return counted < of ? (counted, of) : null;
    }

    /// <summary>
    /// Counts each account of a part once, in one scan of the load. Which part an account is in, some of its
    /// characters say.
    /// </summary>
    private static PartCounts CountPart(SqliteSession connection, long load, int part, int of)
    {
        const string PartRows =
            """
            SELECT DISTINCT domain, alias FROM rows WHERE id BETWEEN ?1 AND ?2 AND
                (unicode(CAST(alias AS TEXT)) + 37 * unicode(CAST(substr(alias, -1) AS TEXT)) + 1369 * unicode(CAST(substr(alias,
                    -2) AS TEXT)) + 7 * length(alias) + 13 * length(domain)) % ?3 = ?4
            """;
        var counts = new PartCounts(part, of, []);
        using var row = connection.Prepare(
            $"SELECT r.domain, COUNT(*), d.domain IS NOT NULL FROM ({PartRows}) r LEFT JOIN load_domains d ON d.load = ?5 AND d.domain = r.domain GROUP BY r.domain",
            RowId(load, 0), RowId(load, MaxPosition), of, part, load);
        while (row.Step())
        {
            counts.Accounts += row.Int64(1);
            if (row.Boolean(2))
                counts.Domains.Add((row.Blob(0).ToArray(), row.Int64(1)));
        }
        return counts;
    }

    /// <summary>Adds a part's counts, unless somebody else has; behind the last part they count.</summary>
    private static void RecordPart(SqliteSession connection, long load, PartCounts counts)
    {
        var changed = connection.Execute(
            """
            UPDATE loads SET counted_parts = ?2 + 1, count_parts = ?3, counted = counted + ?4,
                accounts = CASE WHEN ?2 + 1 = ?3 THEN counted + ?4 ELSE accounts END
            WHERE id = ?1 AND counted_parts = ?2 AND count_parts IN (0, ?3)
            """,
            load, counts.Part, counts.Of, counts.Accounts);
        if (changed == 0)
            return;
        foreach (var (domain, accounts) in counts.Domains)
            connection.Execute("UPDATE load_domains SET exact = COALESCE(exact, 0) + ?3 WHERE load = ?1 AND domain = ?2", load, domain,
                accounts);
    }

    /// <summary>
    /// Gives the next numbers to notifications that have none; returns how many. The others keep theirs: their
    /// messages may be on the way.
    /// </summary>
    private static int NumberNotifications(SqliteSession connection, long load, int most) =>
        connection.Execute(
            """
            UPDATE notifications SET number = numbered.place
            FROM (
                SELECT id, (SELECT COALESCE(MAX(number), 0) FROM notifications WHERE load = ?1) + ROW_NUMBER() OVER (ORDER BY id) AS place
                FROM (SELECT id FROM notifications WHERE load = ?1 AND number IS NULL ORDER BY id LIMIT ?2)) AS numbered
            WHERE notifications.id = numbered.id
            """,
            load, most);

    private static List<Notification> ListNotifications(SqliteSession connection, string condition, params ReadOnlySpan<object?> values)
    {
        using var row = connection.Prepare(
            $"""
            SELECT n.id, n.number, s.email, s.domain, n.accounts, n.attempts, n.deferrals, n.state = 'open' FROM notifications n
                JOIN subscribers s ON s.id = n.subscriber
            WHERE n.load = ?1 AND n.number BETWEEN ?2 AND ?3 AND {condition} ORDER BY n.number
            """,
            values);
        var notifications = new List<Notification>();
        while (row.Step())
            notifications.Add(RowReaders.Notification(row));
        return notifications;
    }

    private sealed record Matches(HashSet<long> Subscribers, Dictionary<long, long> Domains);

    private sealed record PartCounts(int Part, int Of, List<(byte[] Domain, long Accounts)> Domains)
    {
        public long Accounts { get; set; }
    }
}
