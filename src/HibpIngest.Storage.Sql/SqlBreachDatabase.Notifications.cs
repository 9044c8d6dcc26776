namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    /// <summary>Index probes only, for loads of any size (checked by a test).</summary>
    internal const string MailProgressSql = """
        SELECT CAST(CASE WHEN l.state = 'notifying' AND b.hidden = 0 THEN 1 ELSE 0 END AS bit) AS may_send, l.mails_queued,
            (SELECT MIN(number) FROM dbo.notifications WHERE load_id = @load AND state = 'open' AND not_before IS NULL) AS first_waiting,
            COALESCE((SELECT MAX(number) FROM dbo.notifications WHERE load_id = @load), 0) AS last_number
        FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach WHERE l.id = @load
        """;

    private const string NotificationColumns = """
        SELECT n.id, n.number, s.link_id, s.email, s.domain, n.accounts, n.attempts, n.deferrals,
            CAST(CASE WHEN n.state = 'open' THEN 1 ELSE 0 END AS bit) AS is_open, n.error,
            CAST(CASE WHEN n.state = 'failed' THEN 1 ELSE 0 END AS bit) AS is_refused
        FROM dbo.notifications n JOIN dbo.subscribers s ON s.id = n.subscriber
        WHERE n.load_id = @load AND n.number BETWEEN @first AND @last
        """;

    private static Notification ReadNotification(IRow row) => new()
    {
        Id = row.Int64("id"),
        Number = row.Int32("number"),
        Subscription = row.Guid("link_id"),
        Email = row.Text("email"),
        Domain = DomainOrNull(row),
        Accounts = row.Int64("accounts"),
        Attempts = row.Int32("attempts"),
        Deferrals = row.Int32("deferrals"),
        IsOpen = row.Boolean("is_open"),
        Error = row.TextOrNull("error"),
        IsRefused = row.Boolean("is_refused"),
    };

    // No reservation of the mail rate extends further ahead: a later time stems from a clock that was set back, or a restored database.
    private static readonly TimeSpan FurthestMail = TimeSpan.FromHours(1);

    private const string OpenInRange = "load_id = @load AND number BETWEEN @first AND @last AND state = 'open'";

    private const string Claimable = $"{OpenInRange} AND (not_before IS NULL OR not_before <= @now) AND {Unclaimed}";

    private const string Unclaimed = "(claim_owner IS NULL OR claim_owner = @owner OR claim_expires_at <= @now)";

    public Task<bool> ReleaseLoadNotificationsAsync(LoadId load, CancellationToken cancellationToken) => TryWriteAsync("""
        UPDATE dbo.loads SET state = 'notifying', held_because = NULL, mails_queued = 0, message_sent_at = NULL
        WHERE id = @load AND state = 'held' AND removing = 0
        """, cancellationToken, OfLoad(load));

    public Task<IReadOnlyList<LoadId>> HoldLoadsAsync(string breach, string because, CancellationToken cancellationToken) =>
        WriteAsync<IReadOnlyList<LoadId>>(async session =>
        {
            var key = Int("@breach", await BreachKeyAsync(session, breach));
            await session.ExecuteAsync("UPDATE dbo.loads SET generation = generation WHERE breach = @breach", key);
            await session.ExecuteAsync($"{HoldLoads} WHERE breach = @breach AND state <> 'done'", key, Line("@because", because));
            // These loads' mails are sent, but clients are still called. The update above has waited for any process that was about to
            // record calls; only a statement that begins after it sees those calls.
            await session.ExecuteAsync("""
                UPDATE dbo.loads SET state = 'held', held_because = COALESCE(held_because, @because), finished_at = NULL
                WHERE breach = @breach AND state = 'done' AND removing = 0
                    AND ((calls IN ('due', 'failed') AND published_at IS NOT NULL)
                    OR EXISTS (SELECT 1 FROM dbo.callbacks c WHERE c.load_id = loads.id AND c.state = 'open'))
                """, key, Line("@because", because));
            return await session.ListAsync(
                "SELECT id FROM dbo.loads WHERE breach = @breach AND state = 'held' AND removing = 0 ORDER BY id",
                row => row.Load("id"), key);
        }, cancellationToken);

    public Task<IReadOnlyList<Notification>> ListNotificationsAsync(
        LoadId load, int first, int last, CancellationToken cancellationToken) =>
        ListAsync($"{NotificationColumns} ORDER BY n.number", ReadNotification, cancellationToken, Range(load, first, last));

    public Task<MailProgress?> GetMailProgressAsync(LoadId load, CancellationToken cancellationToken) => ReadAsync(
        session => session.FirstAsync(
            MailProgressSql,
            row => new MailProgress(
                row.Boolean("may_send"), row.Int32("mails_queued"), row.Int32OrNull("first_waiting"), row.Int32("last_number")),
            OfLoad(load)),
        cancellationToken);

    public Task<bool> TryQueueMailsAsync(LoadId load, int from, int to, CancellationToken cancellationToken) => TryWriteAsync("""
        UPDATE dbo.loads SET mails_queued = @to, message_sent_at = @now
        WHERE id = @load AND mails_queued = @from AND state = 'notifying'
        """, cancellationToken, OfLoad(load), Int("@from", from), Int("@to", to));

    public Task<bool> TryRestartMailsAsync(LoadId load, TimeSpan age, CancellationToken cancellationToken) => TryWriteAsync("""
        UPDATE dbo.loads SET mails_queued = 0, message_sent_at = @now
        WHERE id = @load AND state = 'notifying' AND (message_sent_at IS NULL OR message_sent_at <= @since)
            AND breach IN (SELECT breach_key FROM dbo.breaches WHERE hidden = 0)
        """, cancellationToken, OfLoad(load), FromNow("@since", -age));

    public Task<IReadOnlyList<int>> EndDeferralsAsync(LoadId load, int limit, CancellationToken cancellationToken) =>
        WriteAsync<IReadOnlyList<int>>(async session =>
        {
            if (!await MaySendAsync(session, load))
                return [];
            var due = await session.ListAsync(
                Limit("""
                    id, number FROM dbo.notifications
                    WHERE load_id = @load AND state = 'open' AND not_before IS NOT NULL AND not_before <= @now ORDER BY not_before
                    """),
                row => (Id: row.Int64("id"), Number: row.Int32("number")), OfLoad(load), BigInt("@limit", limit));
            await EndDelaysAsync(session, due.Select(one => one.Id));
            return [.. due.Select(one => one.Number).Order()];
        }, cancellationToken);

    public Task<NotificationClaims> ClaimNotificationsAsync(
        LoadId load, int first, int last, ClaimOrder order, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        // A held load, or one that is being matched again, sends nothing, even if an old message arrives.
        if (!await MaySendAsync(session, load))
            return NotificationClaims.None;
        Parameter[] range = [.. Range(load, first, last), Owner(order.Owner)];
        var claimable = (int)(await session.NumberAsync(
            $"SELECT COUNT(*) FROM ({Limit($"id FROM dbo.notifications WHERE {Claimable}")}) c",
            [.. range, BigInt("@limit", order.Limit + 1L)]))!.Value;
        var count = Math.Min(claimable, order.Limit);
        var startsIn = TimeSpan.Zero;
        if (count > 0)
        {
            (var reserved, startsIn) = await ReserveAsync(session, count, order);
            if (!reserved)
                return NotificationClaims.None with { RetryAfter = startsIn };
        }
        // The condition is repeated: of two claims of the same notifications, the second waits for the first and then re-evaluates it.
        await session.ExecuteAsync($"""
            UPDATE dbo.notifications SET claim_owner = @owner, claim_expires_at = @until, attempts = attempts + 1
            WHERE id IN ({Limit($"id FROM dbo.notifications WHERE {Claimable} ORDER BY number")}) AND {Claimable}
            """, [.. range, BigInt("@limit", count), FromNow("@until", order.Lease)]);
        var claimed = await session.ListAsync(
            $"{NotificationColumns} AND n.state = 'open' AND n.claim_owner = @owner ORDER BY n.number", ReadNotification, range);
        // A claim that has expired since counts, too: its message is redelivered.
        var othersClaimed = await session.AnyAsync($"SELECT 1 FROM dbo.notifications WHERE {OpenInRange} AND claim_owner <> @owner", range);
        return new NotificationClaims(claimed, othersClaimed) { StartsIn = startsIn, HasMore = claimable > count };
    }, cancellationToken);

    public Task<NotificationOutcome> CompleteNotificationAsync(
        long notification, string owner, MailRefusal? refusal, CancellationToken cancellationToken) =>
        // The mail was sent or refused: if this is not recorded, it is sent again. The long timeout applies therefore, and a lost commit
        // response is checked.
        RecordOutcomeAsync(
            notification, "state = @state, error = @error, completed_at = @now, not_before = NULL", cancellationToken,
            refusal is null ? "0" : refusal.IsUnknown ? "unknown_count + 1" : null,
            Owner(owner), VarChar("@state", refusal is null ? "sent" : "failed", StateLength), Line("@error", refusal?.Error));

    public Task<NotificationOutcome> DeferNotificationAsync(
        long notification, string owner, string error, TimeSpan delay, TimeSpan giveUpAfter, CancellationToken cancellationToken) =>
        RecordOutcomeAsync(notification, """
            state = CASE WHEN deferred_since <= @givenUp THEN 'failed' ELSE state END,
                completed_at = CASE WHEN deferred_since <= @givenUp THEN @now END,
                not_before = CASE WHEN deferred_since <= @givenUp THEN NULL ELSE @until END,
                error = @error, deferrals = deferrals + 1, deferred_since = COALESCE(deferred_since, @now), attempts = 0
            """, cancellationToken, unknown: null, Owner(owner), Line("@error", error), FromNow("@until", delay),
            FromNow("@givenUp", -giveUpAfter));

    public Task ReleaseClaimsAsync(LoadId load, int first, int last, string owner, CancellationToken cancellationToken) =>
        WriteAsync($"""
            UPDATE dbo.notifications SET claim_owner = NULL, claim_expires_at = NULL, attempts = 0
            WHERE {OpenInRange} AND claim_owner = @owner
            """, cancellationToken, [.. Range(load, first, last), Owner(owner)]);

    public Task<bool> TryFinishLoadAsync(LoadId load, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        // The load is checked twice as in TryStartMatchingAsync: a matching that ends concurrently holds the load's row, and has added
        // notifications.
        const string Ready = """
            id = @load AND state = 'notifying'
                AND NOT EXISTS (SELECT 1 FROM dbo.notifications WHERE load_id = @load AND state = 'open')
            """;
        return await session.AnyAsync($"SELECT 1 FROM dbo.loads WHERE {Ready}", OfLoad(load))
            && await LockLoadRowAsync(session, load)
            && await session.ExecuteAsync($"UPDATE dbo.loads SET state = 'done', finished_at = @now WHERE {Ready}", OfLoad(load)) == 1;
    }, cancellationToken);

    private protected abstract Task EndDelaysAsync(ISqlSession session, IEnumerable<long> notifications);

    private protected abstract string AddMillisecondsSql(string time, string milliseconds);

    private protected abstract string MillisecondsUntilSql(string time);

    // Reserves time at the system's mail rate, from when it is free. One statement reads and updates the one row: a concurrent caller
    // waits, and then sees what is left. Returns false, with the wait, if the time is not free soon enough.
    private async Task<(bool Reserved, TimeSpan StartsIn)> ReserveAsync(ISqlSession session, int mails, ClaimOrder order)
    {
        // The time in whole milliseconds: at least one, at most half of what may be reserved ahead.
        var takes = TimeSpan.FromMilliseconds(
            Math.Clamp(Math.Ceiling(mails * 1000 / order.PerSecond), 1, (FurthestMail / 2).TotalMilliseconds));
        const string Free = "CASE WHEN next_at > @now AND next_at <= @furthest THEN next_at ELSE @now END";
        var reserved = await session.ExecuteAsync(
            $"UPDATE dbo.mail_rate SET next_at = {AddMillisecondsSql(Free, "@takes")} WHERE next_at <= @ahead OR next_at > @furthest",
            Milliseconds("@takes", takes), FromNow("@ahead", order.MaxLeadTime), FromNow("@furthest", FurthestMail)) == 1;
        var left = await session.NumberAsync($"SELECT {MillisecondsUntilSql("next_at")} FROM dbo.mail_rate WHERE next_at > @now");
        var startsIn = TimeSpan.FromMilliseconds(left ?? 0) - (reserved ? takes : TimeSpan.Zero);
        return (reserved, startsIn > TimeSpan.Zero ? startsIn : TimeSpan.Zero);
    }

    private static Task<bool> MaySendAsync(ISqlSession session, LoadId load) => session.AnyAsync("""
        SELECT 1 FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach
        WHERE l.id = @load AND l.state = 'notifying' AND b.hidden = 0
        """, OfLoad(load));

    private Task<NotificationOutcome> RecordOutcomeAsync(
        long notification, string set, CancellationToken cancellationToken, string? unknown, params Parameter[] parameters) =>
        WriteWithCommitCheckAsync(async (session, inDoubt) =>
        {
            var id = BigInt("@notification", notification);
            var changed = await session.ExecuteAsync($"""
                UPDATE dbo.notifications SET {set}, claim_owner = NULL, claim_expires_at = NULL
                WHERE id = @notification AND state = 'open' AND {Unclaimed}
                """, [id, .. parameters]);
            if (changed == 1 && unknown is not null)
            {
                await session.ExecuteAsync($"""
                    UPDATE dbo.subscribers SET unknown_count = {unknown}
                    WHERE id = (SELECT subscriber FROM dbo.notifications WHERE id = @notification) AND unknown_count <> {unknown}
                    """, id);
            }
            var after = await session.FirstAsync("""
                SELECT CASE WHEN n.state = 'failed' THEN 1 ELSE 0 END AS has_failed,
                    CASE WHEN l.state = 'notifying' AND b.hidden = 0 THEN 1 ELSE 0 END AS may_send, s.unknown_count
                FROM dbo.notifications n JOIN dbo.loads l ON l.id = n.load_id JOIN dbo.breaches b ON b.breach_key = l.breach
                    JOIN dbo.subscribers s ON s.id = n.subscriber
                WHERE n.id = @notification
                """, row => Tuple.Create(row.Int32("has_failed") == 1, row.Int32("may_send") == 1, row.Int32("unknown_count")), id);
            var recorded = changed == 1 || (inDoubt && after is not null);
            return new NotificationOutcome(recorded, after is { Item2: true }, recorded && after is { Item1: true }, after?.Item3 ?? 0);
        }, cancellationToken);
}
