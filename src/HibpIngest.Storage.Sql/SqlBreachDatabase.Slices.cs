namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    // active_at, not read here, is when the last attempt began or was released; with done_at it gives a done slice's processing time.
    private protected const string SliceColumns =
        "s.load_id, s.number, s.first_position, s.last_position, s.row_count, s.state, s.attempts, s.error, s.queued_at, s.done_at";

    private protected static Slice ReadSlice(IRow row) => new()
    {
        Load = row.Load("load_id"),
        Number = row.Int32("number"),
        First = row.Int64("first_position"),
        Last = row.Int64("last_position"),
        Count = row.Int32("row_count"),
        State = ToSliceState(row.Text("state")),
        Attempts = row.Int32("attempts"),
        Error = row.TextOrNull("error"),
        QueuedAt = row.TimeOrNull("queued_at"),
        DoneAt = row.TimeOrNull("done_at"),
    };

    // Condition on a load l: its slices may be processed. Purged rows are read from the journal, if it has them.
    private const string MayBeWritten =
        "(l.purging = 0 OR l.logged_version IS NOT NULL) AND l.superseded = 0 AND l.superseded_by IS NULL AND l.removing = 0";

    private const string WrittenLoad = $"EXISTS (SELECT 1 FROM dbo.loads l WHERE l.id = @load AND {MayBeWritten})";

    private const string Held = "load_id = @load AND number = @slice AND state <> 'done' AND owner = @owner";

    private const string KeepProgress = """
        done_transactions = COALESCE(@done, done_transactions), order_version = COALESCE(@order, order_version),
            layout_version = COALESCE(@layouts, layout_version)
        """;

    public Task<SliceWork?> BeginSliceAsync(
        LoadId load, int slice, string owner, TimeSpan lease, int maxTries, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            var before = await UpdateSliceAsync(
                session,
                """
                attempts = slices.attempts + CASE WHEN slices.state = 'failed' OR slices.attempts >= @limit THEN 0 ELSE 1 END,
                    owner = @owner, lease_expires_at = @until, active_at = @now
                """,
                $"""
                load_id = @load AND number = @slice AND state <> 'done'
                    AND (owner IS NULL OR owner = @owner OR lease_expires_at <= @now)
                    AND {WrittenLoad}
                """,
                [.. OfSlice(load, slice, owner), Int("@limit", maxTries), FromNow("@until", lease)]);
            var work = await session.FirstAsync($"""
                SELECT {SliceColumns}, COALESCE(l.mark, 0) AS mark, b.name,
                    CASE WHEN s.owner <> @owner AND s.lease_expires_at > @now THEN s.lease_expires_at END AS held_until,
                    s.order_version, s.done_transactions, s.layout_version, l.purging
                FROM dbo.slices s JOIN dbo.loads l ON l.id = s.load_id JOIN dbo.breaches b ON b.breach_key = l.breach
                WHERE s.load_id = @load AND s.number = @slice AND {MayBeWritten}
                """, row => new SliceWork(ReadSlice(row), row.Int32("mark"), row.Text("name"))
            {
                HeldUntil = row.TimeOrNull("held_until"),
                Progress = row.IsNull("done_transactions")
                        ? null : new SliceProgress(row.Int32("order_version"), row.Bytes("done_transactions"))
                        {
                            LayoutVersion = row.Int32("layout_version"),
                        },
                Purged = row.Boolean("purging"),
            },
                OfSlice(load, slice, owner));
            if (work is null || work.Slice.State == SliceState.Done)
                return work;
            work = work with { Layouts = await ReadLayoutsAsync(session) };
            // The lease that blocked it may have expired between the two statements.
            if (before is null)
                return work with { HeldUntil = work.HeldUntil ?? DateTimeOffset.MinValue };
            return before.State != SliceState.Failed && before.Attempts >= maxTries
                ? work with { Slice = work.Slice with { Attempts = maxTries + 1 } }
                : work;
        }, cancellationToken);

    public Task<bool> RenewSliceAsync(
        LoadId load, int slice, string owner, TimeSpan lease, SliceProgress? progress, CancellationToken cancellationToken) => RenewAsync(
        async session => await session.ExecuteAsync(
            $"UPDATE dbo.slices SET lease_expires_at = @until, {KeepProgress} WHERE {Held} AND {WrittenLoad}",
            [.. OfSlice(load, slice, owner), FromNow("@until", lease), .. Progress(progress)]) == 1,
        cancellationToken);

    public Task<SliceCompletion> CompleteSliceAsync(
        LoadId load, int slice, string owner, int entities, int layoutVersion, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            var before = await UpdateSliceAsync(
                session,
                """
                state = 'done', entities = @entities, done_at = @now, error = NULL, owner = NULL,
                    lease_expires_at = NULL, done_transactions = NULL, layout_version = @layouts
                """,
                $"{Held} AND EXISTS (SELECT 1 FROM dbo.store_counters WHERE layout_version = @layouts)",
                [.. OfSlice(load, slice, owner), Int("@entities", entities), Int("@layouts", layoutVersion)]);
            if (before is null)
            {
                // Everything was written before this statement: a reader that begins after a change of the layout set was committed
                // finds it, or the slice is processed again.
                return await session.AnyAsync($"SELECT 1 FROM dbo.slices WHERE {Held}", OfSlice(load, slice, owner))
                    ? new SliceCompletion(false, await ReadLayoutsAsync(session))
                    : SliceCompletion.Lost;
            }
            // The second of two last failed slices that are completed concurrently sees the first one's result once it has locked the load.
            if (before.State != SliceState.Failed || !await LockLoadRowAsync(session, load))
                return SliceCompletion.Done;
            await session.ExecuteAsync("""
                UPDATE dbo.loads SET state = 'upserting', failed_in = NULL, error = NULL, finished_at = NULL
                WHERE id = @load AND state = 'failed' AND ingest_complete = 1 AND superseded_by IS NULL AND removing = 0
                    AND NOT EXISTS (SELECT 1 FROM dbo.slices WHERE load_id = @load AND state = 'failed')
                """, OfLoad(load));
            return SliceCompletion.Done;
        }, cancellationToken);

    public Task RefundSliceAttemptAsync(
        LoadId load, int slice, string owner, SliceProgress? progress, string? error,
        CancellationToken cancellationToken) => WriteAsync($"""
        UPDATE dbo.slices SET attempts = CASE WHEN attempts > 0 AND state <> 'failed' THEN attempts - 1 ELSE attempts END,
            error = COALESCE(@error, error), owner = NULL, lease_expires_at = NULL, active_at = @now, {KeepProgress}
        WHERE {Held}
        """, cancellationToken, [.. OfSlice(load, slice, owner), Line("@error", error), .. Progress(progress)]);

    public Task FailSliceAsync(LoadId load, int slice, string owner, string error, bool exhausted, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            var changed = await session.ExecuteAsync($"""
                UPDATE dbo.slices SET error = @error, state = CASE WHEN @exhausted = 1 THEN 'failed' ELSE state END, owner = NULL,
                    lease_expires_at = NULL, active_at = @now
                WHERE {Held}
                """, [.. OfSlice(load, slice, owner), Line("@error", error), Bit("@exhausted", exhausted)]);
            // The load's error names the first failed slice.
            if (changed == 1 && exhausted)
                await FailAsync(session, load, $"slice {slice}: {error}", onlyFirst: true);
        }, cancellationToken);

    public Task MarkSlicesQueuedAsync(LoadId load, int firstSlice, int lastSlice, CancellationToken cancellationToken) => WriteAsync("""
        UPDATE dbo.slices SET state = 'queued', queued_at = @now
        WHERE load_id = @load AND number BETWEEN @first AND @last AND state IN ('pending', 'queued')
        """, cancellationToken, Range(load, firstSlice, lastSlice));

    public Task<IReadOnlyList<Slice>> RequeueSlicesAsync(LoadId load, int? slice, bool failedOnly, CancellationToken cancellationToken) =>
        WriteAsync<IReadOnlyList<Slice>>(async session =>
        {
            var facts = await LockLoadAsync(session, load);
            if (facts.Removing)
                throw Refusals.Removing(load);
            if (facts.Purging)
                await RequireJournaledAsync(session, load, facts);
            if (slice is not null)
                RefuseStopped(load, facts);
            else if (facts.Superseded || facts.RestartedAs is not null)
                return []; //  its rows are in the slices of the load it was restarted as, or its blob was replaced
            var requeued = await session.ListAsync(
                Changed("""
                    UPDATE dbo.slices SET state = 'pending', attempts = 0, entities = 0, error = NULL, pending_since = @now,
                        queued_at = NULL, done_at = NULL, owner = NULL, done_transactions = NULL
                    """, SliceColumns,
                    "WHERE load_id = @load AND (number = @slice OR @slice IS NULL AND (state = 'failed' OR @failedOnly = 0))"),
                ReadSlice, OfLoad(load), Int("@slice", slice), Bit("@failedOnly", failedOnly));
            if (slice is { } number && requeued.Count == 0)
                throw Refusals.NoSlice(load, number);
            if (requeued.Count > 0)
            {
                await session.ExecuteAsync("""
                    UPDATE dbo.loads SET state = CASE WHEN ingest_complete = 1 THEN 'upserting' ELSE 'ingesting' END, failed_in = NULL,
                        error = NULL, upserted_at = NULL, finished_at = NULL,
                        held_because =
                            CASE WHEN 'held' IN (state, failed_in) THEN COALESCE(held_because, @because) ELSE held_because END
                    WHERE id = @load
                    """, OfLoad(load), LongText("@because", HeldBeforeRequeue));
            }
            return [.. requeued.OrderBy(one => one.Number)];
        }, cancellationToken);

    public Task<IReadOnlyList<Slice>> ListSlicesAsync(LoadId load, bool failedOnly, CancellationToken cancellationToken) => ListAsync($"""
        SELECT {SliceColumns} FROM dbo.slices s WHERE s.load_id = @load {(failedOnly ? "AND s.state = 'failed'" : "")}
        ORDER BY s.number
        """, ReadSlice, cancellationToken, OfLoad(load));

    public Task<IReadOnlyList<Slice>> ListPendingSlicesAsync(TimeSpan age, int limit, CancellationToken cancellationToken) =>
        ListOldSlicesAsync(
            $"l.state <> 'done' AND {MayBeWritten} AND s.state = 'pending' AND s.pending_since <= @since", age, limit, cancellationToken);

    public Task<IReadOnlyList<Slice>> ListStaleSlicesAsync(TimeSpan age, int limit, CancellationToken cancellationToken) =>
        ListOldSlicesAsync($"""
            l.state NOT IN ('done', 'failed') AND {MayBeWritten} AND s.state = 'queued' AND s.queued_at <= @since
                AND NOT EXISTS (SELECT 1 FROM dbo.slices a WHERE a.load_id = l.id AND a.active_at > @since)
                AND l.id NOT IN (
                    SELECT a.load_id FROM dbo.slices a JOIN dbo.loads o ON o.id = a.load_id
                    WHERE o.state NOT IN ('done', 'failed') AND (a.done_at > @since OR a.lease_expires_at > @since))
            """, age, limit, cancellationToken);

    // Once its rows are purged, a load's slices are written from the journal.
    private static async Task RequireJournaledAsync(ISqlSession session, LoadId load, LoadFacts facts)
    {
        if (facts.State is not (LoadState.Done or LoadState.Upserting or LoadState.Failed)
            || !await session.AnyAsync("SELECT 1 FROM dbo.loads WHERE id = @load AND logged_version IS NOT NULL", OfLoad(load)))
        {
            throw Refusals.Purged(load, "requeued");
        }
    }

    /// <returns>The slice before the update; null if none meets it.</returns>
    private protected abstract Task<SliceBefore?> UpdateSliceAsync(
        ISqlSession session, string set, string condition, Parameter[] parameters);

    /// <summary>An UPDATE that returns columns, prefixed <c>s.</c>, of the rows it has changed.</summary>
    private protected abstract string Changed(string update, string columns, string where);

    private protected static SliceBefore ReadBefore(IRow row) => new(ToSliceState(row.Text("state")), row.Int32("attempts"));

    private static Parameter[] OfSlice(LoadId load, int slice, string owner) => [OfLoad(load), Int("@slice", slice), Owner(owner)];

    private static Parameter[] Range(LoadId load, int first, int last) => [OfLoad(load), Int("@first", first), Int("@last", last)];

    private static Parameter[] Progress(SliceProgress? progress) =>
        [LongBytes("@done", progress?.Done), Int("@order", progress?.OrderVersion), Int("@layouts", progress?.LayoutVersion)];

    private Task<IReadOnlyList<Slice>> ListOldSlicesAsync(string condition, TimeSpan age, int limit, CancellationToken cancellationToken) =>
        ListAsync(
            Limit($"""
                {SliceColumns} FROM dbo.slices s JOIN dbo.loads l ON l.id = s.load_id
                WHERE s.state <> 'done' AND {condition}
                ORDER BY s.load_id, s.number
                """),
            ReadSlice, cancellationToken, FromNow("@since", -age), BigInt("@limit", limit));

    private protected sealed record SliceBefore(SliceState State, int Attempts);
}
