namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    private protected const string IsMatched = "id = @load AND state = 'matching' AND matched_position = last_position";

    public Task<bool> TryStartMatchingAsync(LoadId load, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        // The load is checked without a lock first, so that the many slices that are not the last don't wait for the load's row, and again
        // under the lock, which resetting slices takes too.
        const string Ready = """
            id = @load AND state = 'upserting'
                AND NOT EXISTS (SELECT 1 FROM dbo.slices WHERE load_id = @load AND state <> 'done')
            """;
        if (!await session.AnyAsync($"SELECT 1 FROM dbo.loads WHERE {Ready}", OfLoad(load))
            || !await LockLoadRowAsync(session, load))
        {
            return false;
        }
        // A load whose rows are purged was matched before, and can't be matched again. Its unsent mails wait for an operator.
        const string HasMails = "EXISTS (SELECT 1 FROM dbo.notifications n WHERE n.load_id = @load AND n.state = 'open')";
        if (await session.ExecuteAsync($"""
            UPDATE dbo.loads SET upserted_at = @now, finished_at = CASE WHEN {HasMails} THEN NULL ELSE @now END,
                state = CASE WHEN {HasMails} THEN 'held' ELSE 'done' END,
                held_because = CASE WHEN {HasMails} THEN COALESCE(held_because, @because) ELSE held_because END
            WHERE {Ready} AND purging = 1
            """, OfLoad(load), LongText("@because", HeldAfterPurge)) == 1)
        {
            return false;
        }
        var changed = await session.ExecuteAsync($"""
            UPDATE dbo.loads SET state = 'matching', matched_position = 0, count_parts = 0, counted_parts = 0, counted = 0,
                told_subscriber = 0, attempts = 0, message_sent_at = NULL,
                upserted_at = @now, last_subscriber = (SELECT COALESCE(MAX(id), 0) FROM dbo.subscribers)
            WHERE {Ready}
            """, OfLoad(load));
        if (changed == 1)
            await session.ExecuteAsync("DELETE FROM dbo.load_domains WHERE load_id = @load", OfLoad(load));
        return changed == 1;
    }, cancellationToken);

    public Task<bool> ReleaseUnpublishedAsync(LoadId load, CancellationToken cancellationToken) => TryWriteAsync("""
        UPDATE dbo.loads SET state = 'matching', held_because = NULL, message_sent_at = NULL
        WHERE id = @load AND state = 'held' AND published_at IS NULL AND replaced_by IS NULL AND removing = 0
        """, cancellationToken, OfLoad(load));

    public abstract Task<bool> MatchRowsAsync(LoadId load, long after, long upTo, TimeSpan lease, CancellationToken cancellationToken);

    public async Task<LoadState?> FinishMatchingAsync(LoadId load, MatchEnd end, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(end.StepRows, 1);
        ArgumentOutOfRangeException.ThrowIfLessThan(end.CountRows, 1);
        var count = await ReadAsync(
            session => session.FirstAsync(
                $"SELECT duplicates_possible, counted_parts, count_parts, last_position FROM dbo.loads WHERE {IsMatched}",
                row => new CountState(
                    row.Boolean("duplicates_possible"), row.Int32("counted_parts"),
                    row.Int32("count_parts") is > 0 and var parts ? parts : end.CountParts(row.Int64("last_position"))),
                OfLoad(load)),
            cancellationToken);
        // If duplicates are possible, counting sorts a part of the load: in a transaction of its own, which locks nothing until it has
        // counted.
        return count switch
        {
            null => null,
            { Wanted: true } when count.Counted < count.Parts =>
                await CountPartAsync(load, count.Counted, count.Parts, end.Lease, cancellationToken),
            _ => await WriteAsync(session => FinishStepAsync(session, load, end), cancellationToken, isLong: true),
        };
    }

    /// <summary>
    /// Counts the distinct accounts of a part of a load by domain, and adds the counts unless another process has. Some characters of an
    /// account determine its part.
    /// </summary>
    /// <returns>Matching; null if the load was found not to be matching any more, so nothing was counted.</returns>
    private protected abstract Task<LoadState?> CountPartAsync(
        LoadId load, int part, int parts, TimeSpan lease, CancellationToken cancellationToken);

    /// <summary>Adds notifications of a load's accounts in whole domains, for subscriptions from one id to another.</summary>
    private protected abstract Task NotifyDomainsAsync(ISqlSession session, LoadId load, long first, long last);

    /// <returns>False if another process has matched it, or the load isn't matching.</returns>
    private protected static async Task<bool> TryAdvanceMatchAsync(ISqlSession session, LoadId load, long after, long upTo) =>
        await session.ExecuteAsync(
            "UPDATE dbo.loads SET matched_position = @upTo WHERE id = @load AND matched_position = @after AND state = 'matching'",
            OfLoad(load), BigInt("@after", after), BigInt("@upTo", upTo)) == 1;

    private protected static Task<int> RecordProgressAsync(ISqlSession session, LoadId load, TimeSpan lease) => session.ExecuteAsync(
        "UPDATE dbo.loads SET attempts = 0, lease_expires_at = CASE WHEN owner IS NOT NULL THEN @until END WHERE id = @load",
        OfLoad(load), FromNow("@until", lease));

    // Runs one step of the end of matching after the counts, or all of it if there is little to do.
    private async Task<LoadState?> FinishStepAsync(ISqlSession session, LoadId load, MatchEnd end)
    {
        // Locked against a resume of the failed loads whose notifications are taken over, against matching of the breach's other loads, and
        // against another end of this load.
        await LockLoadAsync(session, load);
        if (!await session.AnyAsync($"SELECT 1 FROM dbo.loads WHERE {IsMatched}", OfLoad(load)))
            return null;
        if (await ReadLoadAsync(session, load) is { PublishedAt: null } held && HoldReason.IsNotPublished(held.HeldBecause))
        {
            await session.ExecuteAsync("""
                UPDATE dbo.loads SET state = 'held', owner = NULL, lease_expires_at = NULL, attempts = 0, message_sent_at = NULL
                WHERE id = @load
                """, OfLoad(load));
            return LoadState.Held;
        }
        var (breach, before) = (await session.FirstAsync(
            "SELECT b.name, b.metadata FROM dbo.breaches b JOIN dbo.loads l ON l.breach = b.breach_key WHERE l.id = @load",
            row => Tuple.Create(row.Text("name"), ToMetadata(row.Text("metadata"))), OfLoad(load)))!;
        var metadata = end.Metadata is { } document ? Merge(document, before, byOperator: false) : before;
        var newer = await session.LoadAsync(
            $"SELECT MAX(r.id) {OfSameBlob} WHERE r.id > l.id AND r.published_at IS NOT NULL", OfLoad(load));
        var left = end.StepRows;
        if (newer is not null || metadata.Flags.HasFlag(BreachFlags.Retired))
        {
            var open = Limit("id FROM dbo.notifications WHERE load_id = @load AND state = 'open'");
            left -= await session.ExecuteAsync($"DELETE FROM dbo.notifications WHERE id IN ({open})", OfLoad(load), BigInt("@limit", left));
        }
        else
        {
            left -= await TakeOverAsync(session, load, left);
            left -= left > 0 ? await NotifyNextDomainsAsync(session, load, left) : 0;
            left -= left > 0 ? await NumberNotificationsAsync(session, load, left) : 0;
        }
        if (left <= 0)
        {
            await RecordProgressAsync(session, load, end.Lease);
            return LoadState.Matching;
        }

        if (end.Metadata is { } merged)
            await MergeMetadataAsync(session, breach, merged, byOperator: false);
        if (newer is null)
            await PublishAsync(session, load);
        // If the load is matched again, its clients' calls were decided when it was first published.
        var calls = newer is null && end.CallsClients && !metadata.Flags.HasFlag(BreachFlags.Retired);
        if (calls)
            await session.ExecuteAsync("UPDATE dbo.loads SET calls = 'due' WHERE id = @load AND calls IS NULL", OfLoad(load));
        if (end.HeldBecause is { } because)
            await AddHoldReasonAsync(session, load, because);
        var isOpen = await session.AnyAsync("SELECT 1 FROM dbo.notifications WHERE load_id = @load AND state = 'open'", OfLoad(load));
        const string CallsDue = "SELECT 1 FROM dbo.loads WHERE id = @load AND calls = 'due'";
        var notifies = isOpen || (calls && await session.AnyAsync(CallsDue, OfLoad(load)));
        if (notifies && await FindRecoveredAsync(session, load) is { } recovered)
            await AddHoldReasonAsync(session, load, HeldAfterRecovery(recovered));
        var isHeld = await session.AnyAsync("SELECT 1 FROM dbo.loads WHERE id = @load AND held_because IS NOT NULL", OfLoad(load));
        var state = newer is not null ? LoadState.Done
            : isHeld || (notifies && end.Holds(metadata)) ? LoadState.Held
            : isOpen ? LoadState.Notifying : LoadState.Done;
        await session.ExecuteAsync("""
            UPDATE dbo.loads SET state = @state, replaced_by = COALESCE(@newer, replaced_by),
                finished_at = CASE WHEN @state = 'done' THEN @now END, owner = NULL, lease_expires_at = NULL,
                attempts = 0, message_sent_at = NULL, mails_queued = 0
            WHERE id = @load
            """, OfLoad(load), State(state), Load("@newer", newer));
        return state;
    }

    private static Task<int> AddHoldReasonAsync(ISqlSession session, LoadId load, string because) => session.ExecuteAsync(
        "UPDATE dbo.loads SET held_because = COALESCE(held_because, @because) WHERE id = @load", OfLoad(load), Line("@because", because));

    // Takes over unsent notifications of the breach's failed loads, including restarted ones. Claims are kept, because a mail may be in
    // flight, and so is the fact that such a load was held.
    private async Task<int> TakeOverAsync(ISqlSession session, LoadId load, int limit)
    {
        var taken = 0;
        while (taken < limit && await session.LoadAsync("""
            SELECT MIN(f.id) FROM dbo.loads f JOIN dbo.loads l ON l.breach = f.breach
            WHERE l.id = @load AND f.state = 'failed'
                AND EXISTS (SELECT 1 FROM dbo.notifications n WHERE n.load_id = f.id AND n.state = 'open')
            """, OfLoad(load)) is { } failed)
        {
            await session.ExecuteAsync("""
                UPDATE dbo.loads SET held_because = COALESCE(held_because, @because)
                WHERE id = @load AND EXISTS (
                    SELECT 1 FROM dbo.loads f WHERE f.id = @failed AND (f.failed_in = 'held' OR f.held_because IS NOT NULL))
                """, OfLoad(load), Load("@failed", failed), LongText("@because", HeldWith(failed)));
            taken += await session.ExecuteAsync($"""
                UPDATE dbo.notifications SET load_id = @load, number = NULL
                WHERE id IN ({Limit("id FROM dbo.notifications WHERE load_id = @failed AND state = 'open'")})
                    AND load_id = @failed AND state = 'open'
                """, OfLoad(load), Load("@failed", failed), BigInt("@limit", limit - taken));
        }
        return taken;
    }

    // Returns the number of subscription ids that were checked.
    private async Task<int> NotifyNextDomainsAsync(ISqlSession session, LoadId load, int limit)
    {
        var next = await session.NumberAsync("""
            SELECT MIN(s.id) FROM dbo.subscribers s WHERE s.id > (SELECT told_subscriber FROM dbo.loads WHERE id = @load)
                AND s.id <= (SELECT last_subscriber FROM dbo.loads WHERE id = @load)
            """, OfLoad(load));
        if (next is not { } first)
            return 0;
        var last = (await session.NumberAsync("SELECT last_subscriber FROM dbo.loads WHERE id = @load", OfLoad(load)))!.Value;
        last = Math.Min(first - 1 + limit, last);
        await NotifyDomainsAsync(session, load, first, last);
        await session.ExecuteAsync("UPDATE dbo.loads SET told_subscriber = @last WHERE id = @load", OfLoad(load), BigInt("@last", last));
        return (int)(last - first + 1);
    }

    // Publishes a load, in place of the published load of the same blob name, if there is one. The breach's row is locked.
    private async Task PublishAsync(ISqlSession session, LoadId load)
    {
        await session.ExecuteAsync("""
            UPDATE dbo.breaches SET published_at = COALESCE(published_at, @now), modified_at = @now
            WHERE breach_key = (SELECT breach FROM dbo.loads WHERE id = @load)
            """, OfLoad(load));
        await session.ExecuteAsync("UPDATE dbo.loads SET published_at = COALESCE(published_at, @now) WHERE id = @load", OfLoad(load));
        await session.ExecuteAsync($"""
            UPDATE dbo.loads SET published_at = NULL, replaced_by = @load
            WHERE id IN (SELECT r.id {OfSameBlob} WHERE r.id < l.id AND r.published_at IS NOT NULL)
            """, OfLoad(load));
        await RaiseCatalogueVersionAsync(session);
        await RaiseJournalVersionAsync(session, "loads", "id = @load", OfLoad(load));
    }

    // Numbered notifications keep their numbers, because their messages may be in flight. Returns how many were numbered.
    private Task<int> NumberNotificationsAsync(ISqlSession session, LoadId load, int limit) => session.ExecuteAsync($"""
        UPDATE dbo.notifications SET number = numbered.place
        FROM (
            SELECT u.id, (SELECT COALESCE(MAX(number), 0) FROM dbo.notifications WHERE load_id = @load)
                + CAST(ROW_NUMBER() OVER (ORDER BY u.id) AS int) AS place
            FROM ({Limit("id FROM dbo.notifications WHERE load_id = @load AND number IS NULL ORDER BY id")}) u) AS numbered
        WHERE notifications.id = numbered.id
        """, OfLoad(load), BigInt("@limit", limit));

    private sealed record CountState(bool Wanted, int Counted, int Parts);
}
