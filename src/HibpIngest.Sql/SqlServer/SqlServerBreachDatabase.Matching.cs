using HibpIngest.Breaches;
using HibpIngest.Stores;
using Microsoft.Data.SqlClient;
using static HibpIngest.Sql.SqlServer.Parameter;
using static HibpIngest.Sql.StoredText;

namespace HibpIngest.Sql.SqlServer;

public sealed partial class SqlServerBreachDatabase
{
    /// <summary>
    /// The range is read once, and beside it the subscriptions of addresses and those of domains, once each,
    /// both of them hashed: per address subscribed and per domain, its rows. Nothing depends on the hints but
    /// the plan. What a server has seen of a load that has just come ends before the range, and it would plan
    /// for one row: so the order of the joins is said (what is hashed stands on the left), and where hints are
    /// not heeded the bounds, being queries, are not looked up in the statistics; SQL Server folds such queries
    /// into the values.
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

    /// <summary>
    /// Older loads of the same blob name that are not matched yet, and never will be published once this one is: what
    /// they have found, and this one finds too, this one tells.
    /// </summary>
    private const string Overtaken =
        """
        SELECT o.id FROM dbo.loads o JOIN dbo.loads l ON l.id = @load AND o.breach = l.breach
            AND o.blob COLLATE Latin1_General_100_BIN2 = l.blob
        WHERE o.id < l.id AND o.state IN ('ingesting', 'upserting', 'matching')
        """;

    private const string RecordMatchesSql =
        $"""
        UPDATE dbo.breaches SET name = name WHERE breach_key = (SELECT breach FROM dbo.loads WHERE id = @load);

        IF EXISTS ({Overtaken})
            UPDATE dbo.notifications SET load_id = @load, number = NULL
            WHERE state = 'open' AND load_id IN ({Overtaken}) AND subscriber IN (SELECT subscriber FROM #matches
                WHERE subscriber IS NOT NULL);

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

    /// <summary>
    /// Counts each account of a part of a load once, in one scan, by domain; unless somebody else has, adds it. Which
    /// part an account is in, some of its characters say.
    /// </summary>
    private const string CountPartSql =
        """
        CREATE TABLE #exact (domain varchar(255) COLLATE Latin1_General_100_BIN2 NOT NULL, accounts bigint NOT NULL);

        INSERT INTO #exact (domain, accounts)
        SELECT a.domain, COUNT_BIG(*)
        FROM (
            SELECT DISTINCT domain, alias FROM dbo.rows
            WHERE load_id = @load
                AND (ASCII(alias) + 37 * ASCII(RIGHT(alias, 1)) + 1369 * ASCII(RIGHT(alias,
                    2)) + 7 * LEN(alias) + 13 * LEN(domain)) % @parts = @part) a
        GROUP BY a.domain
        OPTION (RECOMPILE);

        DECLARE @counted bigint = (SELECT COALESCE(SUM(accounts), 0) FROM #exact);
        UPDATE dbo.loads SET counted_parts = @part + 1, count_parts = @parts, counted = counted + @counted,
            accounts = CASE WHEN @part + 1 = @parts THEN counted + @counted ELSE accounts END, attempts = 0,
            lease_expires_at = CASE WHEN owner IS NOT NULL THEN DATEADD(millisecond, @lease, @now) END
        WHERE id = @load AND state = 'matching' AND matched_position = last_position AND counted_parts = @part AND count_parts IN (0,
            @parts);
        IF @@ROWCOUNT = 1
            UPDATE d SET exact = COALESCE(d.exact, 0) + e.accounts
            FROM dbo.load_domains d JOIN #exact e ON e.domain = d.domain
            WHERE d.load_id = @load;

        DROP TABLE #exact;
        """;

    /// <inheritdoc/>
    public Task<bool> MatchRowsAsync(long load, long after, long upTo, TimeSpan lease, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                // The load's row is held from here on: of two that match the same range the second waits, and
                // then finds it matched.
                var changed = await session.ExecuteAsync(
                    "UPDATE dbo.loads SET matched_position = @upTo WHERE id = @load AND matched_position = @after AND state = 'matching'",
                    BigInt("@load", load), BigInt("@after", after), BigInt("@upTo", upTo));
                if (changed == 0)
                    return false;
                var lastSubscriber = await session.NumberAsync("SELECT last_subscriber FROM dbo.loads WHERE id = @load", BigInt("@load", load));
                // In one call, for a temporary table lives as long. The breach is held only when the matches
                // are known: loads of one breach then add notifications one after the other.
                await session.ExecuteAsync(
                    $"{MatchSql}\n{RecordMatchesSql}", BigInt("@load", load), BigInt("@after", after), BigInt("@upTo", upTo), BigInt("@lastSubscriber", lastSubscriber));
                await GetOnAsync(session, load, lease);
                return true;
            },
            cancellationToken,
            _options.LongTimeout);

    /// <inheritdoc/>
    public async Task<LoadState?> FinishMatchingAsync(long load, MatchEnd end, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(end.StepRows, 1);
        ArgumentOutOfRangeException.ThrowIfLessThan(end.CountRows, 1);
        var matched = await ReadAsync(
            session => session.FirstAsync(
                """
                SELECT CASE WHEN duplicates_possible = 1 THEN 1 ELSE 0 END, counted_parts, count_parts, last_position
                FROM dbo.loads WHERE id = @load AND state = 'matching' AND matched_position = last_position
                """,
                row => new CountState(row.Int32(0) == 1, row.Int32(1), row.Int32(2) > 0 ? row.Int32(2) : end.CountParts(row.Int64(3))),
                BigInt("@load", load)),
            cancellationToken);
        if (matched is null)
            return null;
        if (matched is not { Wanted: true } || matched.Counted >= matched.Parts)
            return await WriteAsync(session => FinishStepAsync(session, load, end), cancellationToken, _options.LongTimeout);
        // Where duplicates may have passed, counting takes a sort of a part of the load: in a transaction of its own,
        // which holds nothing until it has counted.
        await WriteAsync(
            session => session.ExecuteAsync(
                CountPartSql, BigInt("@load", load), Int("@part", matched.Counted), Int("@parts", matched.Parts), Milliseconds("@lease",
                    end.Lease)),
            cancellationToken,
            _options.LongTimeout);
        return LoadState.Matching;
    }

    /// <inheritdoc/>
    public Task<bool> ReleaseLoadNotificationsAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(
            async session => await session.ExecuteAsync(
                "UPDATE dbo.loads SET state = 'notifying', held_because = NULL, mails_queued = 0, message_sent_at = NULL WHERE id = @load AND state = 'held' AND removing = 0", BigInt("@load", load)) == 1,
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<long>> HoldLoadsAsync(string breach, string because, CancellationToken cancellationToken) =>
        WriteAsync<IReadOnlyList<long>>(
            async session =>
            {
                var key = (int)(await session.NumberAsync("SELECT breach_key FROM dbo.breaches WHERE folded_name = @folded",
                    Folded(breach)) ?? throw Refusals.NoBreach(breach));
                await session.ExecuteAsync(
                    """
                    UPDATE dbo.loads SET held_because = COALESCE(held_because, @because),
                        state = CASE state WHEN 'notifying' THEN 'held' ELSE state END,
                        failed_in = CASE failed_in WHEN 'notifying' THEN 'held' ELSE failed_in END
                    WHERE breach = @breach AND state <> 'done'
                    """,
                    Int("@breach", key), LongText("@because", OneLine(because)));
                return await session.ListAsync(
                    "SELECT id FROM dbo.loads WHERE breach = @breach AND state = 'held' AND removing = 0 ORDER BY id",
                    row => row.Int64(0), Int("@breach", key));
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Notification>> ListNotificationsAsync(long load, int first, int last, CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<Notification>>(
            async session => await session.ListAsync(
                $"{NotificationColumns} ORDER BY n.number", RowReaders.Notification, BigInt("@load", load), Int("@first", first), Int("@last", last)),
            cancellationToken);

    /// <inheritdoc/>
    public Task<MailProgress?> GetMailProgressAsync(long load, CancellationToken cancellationToken) =>
        ReadAsync(
            session => session.FirstAsync(
                """
                SELECT CAST(CASE WHEN l.state = 'notifying' AND b.hidden = 0 THEN 1 ELSE 0 END AS bit), l.mails_queued,
                    (SELECT MIN(number) FROM dbo.notifications WHERE load_id = @load AND state = 'open' AND not_before IS NULL),
                    COALESCE((SELECT MAX(number) FROM dbo.notifications WHERE load_id = @load), 0)
                FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach WHERE l.id = @load
                """,
                row => new MailProgress(row.Boolean(0), row.Int32(1), row.IsNull(2) ? null : row.Int32(2), row.Int32(3)),
                BigInt("@load", load)),
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> TryQueueMailsAsync(long load, int from, int to, CancellationToken cancellationToken) =>
        WriteAsync(
            async session => await session.ExecuteAsync(
                "UPDATE dbo.loads SET mails_queued = @to, message_sent_at = @now WHERE id = @load AND mails_queued = @from AND state = 'notifying'",
                BigInt("@load", load), Int("@from", from), Int("@to", to)) == 1,
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> TryRestartMailsAsync(long load, TimeSpan age, CancellationToken cancellationToken) =>
        WriteAsync(
            async session => await session.ExecuteAsync(
                """
                UPDATE dbo.loads SET mails_queued = 0, message_sent_at = @now
                WHERE id = @load AND state = 'notifying' AND (message_sent_at IS NULL OR message_sent_at <= DATEADD(millisecond, -@age,
                    @now))
                    AND breach IN (SELECT breach_key FROM dbo.breaches WHERE hidden = 0)
                """,
                BigInt("@load", load), Milliseconds("@age", age)) == 1,
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<int>> TakeDueNotificationsAsync(long load, int most, CancellationToken cancellationToken) =>
        WriteAsync<IReadOnlyList<int>>(
            async session =>
            {
                if (await session.NumberAsync($"SELECT 1 {MaySend}", BigInt("@load", load)) is null)
                    return [];
                var due = await session.ListAsync(
                    """
                    SELECT TOP (@most) id, number FROM dbo.notifications
                    WHERE load_id = @load AND state = 'open' AND not_before IS NOT NULL AND not_before <= @now ORDER BY not_before
                    """,
                    row => (Id: row.Int64(0), Number: row.Int32(1)), BigInt("@load", load), BigInt("@most", most));
                foreach (var page in due.Chunk(IdsPerUpdate))
                    await session.ExecuteAsync($"UPDATE dbo.notifications SET not_before = NULL WHERE state = 'open' AND id IN ({string.Join(',', page.Select(one => one.Id))})");
                return [.. due.Select(one => one.Number).Order()];
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<NotificationClaims> ClaimNotificationsAsync(long load, int first, int last, ClaimOrder order,
        CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                // A held load, or one that is being matched again, sends nothing, even if a message from before arrives.
                if (await session.NumberAsync($"SELECT 1 {MaySend}", BigInt("@load", load)) is null)
                    return NotificationClaims.None;
                var claimable = (int)(await session.NumberAsync(
                    $"SELECT COUNT(*) FROM (SELECT TOP (@most) id FROM dbo.notifications WHERE {Claimable}) c",
                    BigInt("@load", load), Int("@first", first), Int("@last", last), Owner(order.Owner), BigInt("@most",
                        order.Most + 1L)))!.Value;
                var most = Math.Min(claimable, order.Most);
                var startsIn = TimeSpan.Zero;
                if (most > 0)
                {
                    (var reserved, startsIn) = await ReserveAsync(session, most, order);
                    if (!reserved)
                        return NotificationClaims.None with { NoneBefore = startsIn };
                }
                // Said twice: of two that choose the same ones the second waits for the first, and looks again.
                await session.ExecuteAsync(
                    $"""
                    UPDATE dbo.notifications SET claim_owner = @owner, claim_expires_at = DATEADD(millisecond, @lease, @now),
                        attempts = attempts + 1
                    WHERE id IN (SELECT TOP (@most) id FROM dbo.notifications WHERE {Claimable} ORDER BY number) AND {Claimable}
                    """,
                    BigInt("@load", load), Int("@first", first), Int("@last", last), Owner(order.Owner), BigInt("@most", most),
                        Milliseconds("@lease", order.Lease));
                var claimed = await session.ListAsync(
                    $"{NotificationColumns} AND n.state = 'open' AND n.claim_owner = @owner ORDER BY n.number",
                    RowReaders.Notification, BigInt("@load", load), Int("@first", first), Int("@last", last), Owner(order.Owner));
                // Those whose claim has run out since count as held: the message comes again for them.
                var othersHeld = await session.NumberAsync(
                    """
                    SELECT TOP (1) 1 FROM dbo.notifications
                    WHERE load_id = @load AND number BETWEEN @first AND @last AND state = 'open' AND claim_owner <> @owner
                    """,
                    BigInt("@load", load), Int("@first", first), Int("@last", last), Owner(order.Owner));
                return new NotificationClaims(claimed, othersHeld is not null) { StartsIn = startsIn, More = claimable > most };
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<NotificationEnd> CompleteNotificationAsync(long notification, string owner, string? error,
        CancellationToken cancellationToken) =>
        // The mail has gone out: what is not recorded here goes out again. So it waits long for a lock, and
        // asks again where the answer to its commit was lost.
        WriteWithCommitCheckAsync(
            (session, inDoubt) => EndAsync(
                session,
                notification,
                inDoubt,
                "UPDATE dbo.notifications SET state = @state, error = @error, completed_at = @now, not_before = NULL, claim_owner = NULL, claim_expires_at = NULL",
                Owner(owner), VarChar("@state", error is null ? "sent" : "failed", StateLength), LongText("@error", error is null
                    ? null : OneLine(error))),
            cancellationToken,
            _options.LongTimeout);

    /// <inheritdoc/>
    public Task<NotificationEnd> DeferNotificationAsync(long notification, string owner, string error, TimeSpan delay, TimeSpan giveUpAfter,
        CancellationToken cancellationToken) =>
        WriteWithCommitCheckAsync(
            (session, inDoubt) => EndAsync(
                session,
                notification,
                inDoubt,
                """
                UPDATE dbo.notifications SET state = CASE WHEN deferred_since <= DATEADD(millisecond, -@giveUpAfter,
                    @now) THEN 'failed' ELSE state END,
                    completed_at = CASE WHEN deferred_since <= DATEADD(millisecond, -@giveUpAfter, @now) THEN @now END,
                    not_before = CASE WHEN deferred_since <= DATEADD(millisecond, -@giveUpAfter,
                        @now) THEN NULL ELSE DATEADD(millisecond, @delay, @now) END,
                    error = @error, deferrals = deferrals + 1, deferred_since = COALESCE(deferred_since, @now), attempts = 0,
                        claim_owner = NULL, claim_expires_at = NULL
                """,
                Owner(owner), LongText("@error", OneLine(error)), Milliseconds("@delay", delay), Milliseconds("@giveUpAfter", giveUpAfter)),
            cancellationToken,
            _options.LongTimeout);

    /// <inheritdoc/>
    public Task ReleaseNotificationsAsync(long load, int first, int last, string owner, CancellationToken cancellationToken) =>
        WriteAsync(
            session => session.ExecuteAsync(
                """
                UPDATE dbo.notifications SET claim_owner = NULL, claim_expires_at = NULL, attempts = 0
                WHERE load_id = @load AND number BETWEEN @first AND @last AND state = 'open' AND claim_owner = @owner
                """,
                BigInt("@load", load), Int("@first", first), Int("@last", last), Owner(owner)),
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> TryFinishLoadAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                // Asked twice as in TryStartMatchingAsync: a matching that ends meanwhile holds the load's row,
                // and has added notifications.
                const string Ready = "id = @load AND state = 'notifying' AND NOT EXISTS (SELECT 1 FROM dbo.notifications WHERE load_id = @load AND state = 'open')";
                return await session.NumberAsync($"SELECT 1 FROM dbo.loads WHERE {Ready}", BigInt("@load", load)) is not null
                    && await LockLoadRowAsync(session, load)
                    && await session.ExecuteAsync($"UPDATE dbo.loads SET state = 'done', finished_at = @now WHERE {Ready}", BigInt("@load", load)) == 1;
            },
            cancellationToken);

    /// <summary>Ids named in one statement.</summary>
    private const int IdsPerUpdate = 500;

    private const string NotificationColumns =
        """
        SELECT n.id, n.number, s.email, s.domain, n.accounts, n.attempts, n.deferrals,
            CAST(CASE WHEN n.state = 'open' THEN 1 ELSE 0 END AS bit)
        FROM dbo.notifications n JOIN dbo.subscribers s ON s.id = n.subscriber
        WHERE n.load_id = @load AND n.number BETWEEN @first AND @last
        """;

    /// <summary>A load whose mails may go out.</summary>
    private const string MaySend = "FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach WHERE l.id = @load AND l.state = 'notifying' AND b.hidden = 0";

    private const string Claimable =
        """
        load_id = @load AND number BETWEEN @first AND @last AND state = 'open' AND (not_before IS NULL OR not_before <= @now)
            AND (claim_owner IS NULL OR claim_owner = @owner OR claim_expires_at <= @now)
        """;

    /// <summary>The load has got on; its lease lasts from now on, where somebody holds it.</summary>
    private static Task<int> GetOnAsync(SqlServerSession session, long load, TimeSpan lease) =>
        session.ExecuteAsync(
            "UPDATE dbo.loads SET attempts = 0, lease_expires_at = CASE WHEN owner IS NOT NULL THEN DATEADD(millisecond, @lease, @now) END WHERE id = @load",
            BigInt("@load", load), Milliseconds("@lease", lease));

    /// <summary>
    /// Ends or defers a notification by an UPDATE without its condition, and looks whether the next may be
    /// sent.
    /// </summary>
    private static async Task<NotificationEnd> EndAsync(SqlServerSession session, long notification, bool inDoubt, string update,
        params SqlParameter[] parameters)
    {
        var changed = await session.ExecuteAsync(
            $"{update} WHERE id = @notification AND state = 'open' AND (claim_owner IS NULL OR claim_owner = @owner OR claim_expires_at <= @now)",
            [BigInt("@notification", notification), .. parameters]);
        var after = await session.FirstAsync(
            """
            SELECT CASE WHEN n.state = 'failed' THEN 1 ELSE 0 END, CASE WHEN l.state = 'notifying' AND b.hidden = 0 THEN 1 ELSE 0 END
            FROM dbo.notifications n JOIN dbo.loads l ON l.id = n.load_id JOIN dbo.breaches b ON b.breach_key = l.breach
                WHERE n.id = @notification
            """,
            row => new EndState(row.Int32(0) == 1, row.Int32(1) == 1),
            BigInt("@notification", notification));
        var recorded = changed == 1 || (inDoubt && after is not null);
        return new NotificationEnd(recorded, after is { MaySend: true }, recorded && after is { Failed: true });
    }

    /// <summary>
    /// The time that mails take at the system's rate, from when it is free on; false: not before so long. What lies
    /// further ahead than anybody reserves is a clock's that was set back. One row, and one
    /// statement that reads and moves it: whoever comes second waits, and then sees what the first has left.
    /// </summary>
    private static async Task<(bool Reserved, TimeSpan StartsIn)> ReserveAsync(SqlServerSession session, int mails, ClaimOrder order)
    {
        var takes = MailRate.Of(mails, order.PerSecond);
        var reserved = await session.ExecuteAsync(
            """
            UPDATE dbo.mail_rate SET next_at = DATEADD(millisecond, @takes, CASE WHEN next_at > @now AND next_at <= DATEADD(millisecond,
                @furthest, @now) THEN next_at ELSE @now END)
            WHERE next_at <= DATEADD(millisecond, @ahead, @now) OR next_at > DATEADD(millisecond, @furthest, @now)
            """,
            Milliseconds("@takes", takes), Milliseconds("@ahead", order.Ahead), Milliseconds("@furthest", MailRate.Furthest)) == 1;
        var free = await session.NumberAsync("SELECT DATEDIFF(millisecond, @now, next_at) FROM dbo.mail_rate WHERE next_at > @now");
        var startsIn = TimeSpan.FromMilliseconds(free ?? 0) - (reserved ? takes : TimeSpan.Zero);
        return (reserved, startsIn > TimeSpan.Zero ? startsIn : TimeSpan.Zero);
    }

    /// <summary>One step of the end of matching behind the counts, or, where there is little to do, all of it.</summary>
    private static async Task<LoadState?> FinishStepAsync(SqlServerSession session, long load, MatchEnd end)
    {
        // Held against a resume of the failed loads that notifications are taken from, against a match of the
        // breach's other loads, and against this one's own end.
        await LockLoadAsync(session, load);
        if (await session.NumberAsync("SELECT 1 FROM dbo.loads WHERE id = @load AND state = 'matching' AND matched_position = last_position", BigInt("@load", load)) is null)
            return null;
        var (breach, before) = (await session.FirstAsync(
            "SELECT b.name, b.metadata FROM dbo.breaches b JOIN dbo.loads l ON l.breach = b.breach_key WHERE l.id = @load",
            row => Tuple.Create(row.Text(0), ToMetadata(row.Text(1))), BigInt("@load", load)))!;
        var metadata = end.Metadata is { } document ? Merge(document, before, byOperator: false) : before;
        var newer = await session.NumberAsync(
            """
            SELECT MAX(r.id) FROM dbo.loads r JOIN dbo.loads l ON l.id = @load AND r.breach = l.breach
                AND r.blob COLLATE Latin1_General_100_BIN2 = l.blob
            WHERE r.id > l.id AND r.published_at IS NOT NULL
            """,
            BigInt("@load", load));
        var left = end.StepRows;
        if (newer is not null || metadata.Flags.HasFlag(BreachFlags.Retired))
        {
            left -= await session.ExecuteAsync(
                "DELETE FROM dbo.notifications WHERE id IN (SELECT TOP (@most) id FROM dbo.notifications WHERE load_id = @load AND state = 'open')",
                BigInt("@load", load), BigInt("@most", left));
        }
        else
        {
            left -= await TakeOverAsync(session, load, left);
            left -= left > 0 ? await TellDomainsAsync(session, load, left) : 0;
            left -= left > 0 ? await NumberNotificationsAsync(session, load, left) : 0;
        }
        if (left <= 0)
        {
            await GetOnAsync(session, load, end.Lease);
            return LoadState.Matching;
        }

        if (end.Metadata is { } merged)
            await MergeMetadataAsync(session, breach, merged, byOperator: false);
        if (newer is null)
            await PublishAsync(session, load);
        if (end.HeldBecause is { } because)
            await session.ExecuteAsync("UPDATE dbo.loads SET held_because = COALESCE(held_because, @because) WHERE id = @load",
                BigInt("@load", load), LongText("@because", OneLine(because)));
        var isHeld = await session.NumberAsync("SELECT 1 FROM dbo.loads WHERE id = @load AND held_because IS NOT NULL", BigInt("@load",
            load)) is not null;
        var isOpen = await session.NumberAsync("SELECT TOP (1) 1 FROM dbo.notifications WHERE load_id = @load AND state = 'open'",
            BigInt("@load", load)) is not null;
        var state = newer is not null ? LoadState.Done : isHeld || (isOpen && end.Holds(metadata)) ? LoadState.Held : isOpen
            ? LoadState.Notifying : LoadState.Done;
        await session.ExecuteAsync(
            """
            UPDATE dbo.loads SET state = @state, replaced_by = COALESCE(@newer, replaced_by),
                finished_at = CASE WHEN @state = 'done' THEN @now END, owner = NULL, lease_expires_at = NULL,
                attempts = 0, message_sent_at = NULL, mails_queued = 0
            WHERE id = @load
            """,
            BigInt("@load", load), VarChar("@state", ToText(state), StateLength), BigInt("@newer", newer));
        return state;
    }

    /// <summary>
    /// Of the breach's failed loads, those restarted among them: what they had yet to send. A claim goes along, for a
    /// mail may be on its way; and so does that it was held.
    /// </summary>
    private static async Task<int> TakeOverAsync(SqlServerSession session, long load, int most)
    {
        var taken = 0;
        while (taken < most && await session.NumberAsync(
            """
            SELECT MIN(f.id) FROM dbo.loads f JOIN dbo.loads l ON l.breach = f.breach
            WHERE l.id = @load AND f.state = 'failed' AND EXISTS (SELECT 1 FROM dbo.notifications n WHERE n.load_id = f.id
                AND n.state = 'open')
            """,
            BigInt("@load", load)) is { } failed)
        {
            await session.ExecuteAsync(
                """
                UPDATE dbo.loads SET held_because = COALESCE(held_because, @because)
                WHERE id = @load AND EXISTS (SELECT 1 FROM dbo.loads f WHERE f.id = @failed
                    AND (f.failed_in = 'held' OR f.held_because IS NOT NULL))
                """,
                BigInt("@load", load), BigInt("@failed", failed), LongText("@because", HeldWith(failed)));
            taken += await session.ExecuteAsync(
                """
                UPDATE dbo.notifications SET load_id = @load, number = NULL
                WHERE id IN (SELECT TOP (@most) id FROM dbo.notifications WHERE load_id = @failed AND state = 'open')
                    AND load_id = @failed AND state = 'open'
                """,
                BigInt("@load", load), BigInt("@failed", failed), BigInt("@most", most - taken));
        }
        return taken;
    }

    /// <summary>
    /// Notifications for the next subscriptions of whole domains; returns how many subscriptions were looked
    /// at.
    /// </summary>
    private static async Task<int> TellDomainsAsync(SqlServerSession session, long load, int most)
    {
        // On to the next one that there is.
        var next = await session.NumberAsync(
            "SELECT MIN(s.id) FROM dbo.subscribers s WHERE s.id > (SELECT told_subscriber FROM dbo.loads WHERE id = @load) AND s.id <= (SELECT last_subscriber FROM dbo.loads WHERE id = @load)",
            BigInt("@load", load));
        if (next is null)
            return 0;
        var upTo = Math.Min(next.Value - 1 + most, (await session.NumberAsync("SELECT last_subscriber FROM dbo.loads WHERE id = @load",
            BigInt("@load", load)))!.Value);
        await session.ExecuteAsync(
            $"""
            IF EXISTS ({Overtaken})
                UPDATE dbo.notifications SET load_id = @load, number = NULL
                WHERE state = 'open' AND load_id IN ({Overtaken}) AND subscriber IN (
                    SELECT s.id FROM dbo.subscribers s JOIN dbo.load_domains d ON d.load_id = @load AND d.domain = s.match_domain
                    WHERE s.id BETWEEN @next AND @upTo AND s.match_alias IS NULL);
            UPDATE n SET accounts = COALESCE(d.exact, d.accounts)
            FROM dbo.notifications n
            JOIN dbo.subscribers s ON s.id = n.subscriber
            JOIN dbo.load_domains d ON d.load_id = @load AND d.domain = s.match_domain
            WHERE s.id BETWEEN @next AND @upTo AND s.match_alias IS NULL AND n.load_id = @load AND n.state = 'open'
                AND n.breach = (SELECT breach FROM dbo.loads WHERE id = @load)
            """,
            BigInt("@load", load), BigInt("@next", next), BigInt("@upTo", upTo));
        await session.ExecuteAsync(
            """
            INSERT INTO dbo.notifications (breach, subscriber, load_id, accounts, state)
            SELECT l.breach, s.id, l.id, COALESCE(d.exact, d.accounts), 'open'
            FROM dbo.loads l
            JOIN dbo.load_domains d ON d.load_id = l.id
            JOIN dbo.subscribers s ON s.match_domain = d.domain AND s.match_alias IS NULL AND s.id BETWEEN @next AND @upTo
            WHERE l.id = @load AND NOT EXISTS (SELECT 1 FROM dbo.notifications n WHERE n.breach = l.breach AND n.subscriber = s.id)
            ORDER BY s.id
            """,
            BigInt("@load", load), BigInt("@next", next), BigInt("@upTo", upTo));
        await session.ExecuteAsync("UPDATE dbo.loads SET told_subscriber = @upTo WHERE id = @load", BigInt("@load", load), BigInt("@upTo",
            upTo));
        return (int)(upTo - next.Value + 1);
    }

    /// <summary>
    /// Makes a load's mark count, in the place of that of the published load of the same blob name, where there
    /// is one. The breach's row is held.
    /// </summary>
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

    /// <summary>
    /// Gives the next numbers to notifications that have none; returns how many. The others keep theirs: their
    /// messages may be on the way.
    /// </summary>
    private static Task<int> NumberNotificationsAsync(SqlServerSession session, long load, int most) =>
        session.ExecuteAsync(
            """
            UPDATE n SET number = numbered.place
            FROM dbo.notifications n
            JOIN (
                SELECT u.id, (SELECT COALESCE(MAX(number), 0) FROM dbo.notifications
                    WHERE load_id = @load) + CAST(ROW_NUMBER() OVER (ORDER BY u.id) AS int) AS place
                FROM (SELECT TOP (@most) id FROM dbo.notifications WHERE load_id = @load
                    AND number IS NULL ORDER BY id) u) numbered ON numbered.id = n.id
            """,
            BigInt("@load", load), BigInt("@most", most));

    /// <summary>How far an exact count is, and whether it is wanted.</summary>
    private sealed record CountState(bool Wanted, int Counted, int Parts);

    private sealed record EndState(bool Failed, bool MaySend);
}
