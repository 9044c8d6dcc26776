namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    // Condition on a load l: the journal records it. That includes a published load that was restarted as another one since.
    private const string MayBeJournaled =
        "l.removing = 0 AND (l.published_at IS NOT NULL OR (l.superseded = 0 AND l.superseded_by IS NULL))";

    /// <inheritdoc/>
    /// <remarks>
    /// Read in several statements: a change of what the journal records raises the version of the row that it changes, so an
    /// inconsistent entry is written again.
    /// </remarks>
    public Task<JournalEntry?> GetJournalEntryAsync(LoadId load, CancellationToken cancellationToken) => ReadAsync(async session =>
    {
        var entry = await session.FirstAsync($"""
            SELECT COALESCE(l.mark, 0) AS mark, l.blob, l.etag, l.generation, l.started_at, l.settings, l.last_position, l.accounts,
                l.ingest_complete,
                CAST(CASE WHEN {MayBeJournaled} THEN 0 ELSE 1 END AS bit) AS stopped,
                l.removing, l.purging,
                l.published_at AS load_published_at, b.name, b.metadata, b.hidden, b.published_at, b.modified_at,
                CASE WHEN l.log_version > b.log_version THEN l.log_version ELSE b.log_version END AS log_version, l.logged_version
            FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach WHERE l.id = @load
            """,
            row => new JournalEntry
            {
                Load = load,
                Mark = row.Int32("mark"),
                Blob = new BlobVersion(row.Text("blob"), row.Text("etag")),
                Generation = row.Int32("generation"),
                StartedAt = row.Time("started_at"),
                Settings = StoredText.ToSettings(row.Text("settings")),
                LastPosition = row.Int64("last_position"),
                Accounts = row.Int64("accounts"),
                IsComplete = row.Boolean("ingest_complete"),
                Stopped = row.Boolean("stopped"),
                Removing = row.Boolean("removing"),
                Purged = row.Boolean("purging"),
                PublishedAt = row.TimeOrNull("load_published_at"),
                Breach = ReadBreach(row),
                ModifiedAt = row.TimeOrNull("modified_at"),
                Version = row.Int64("log_version"),
                JournaledVersion = row.Int64OrNull("logged_version"),
            },
            OfLoad(load));
        return entry is null ? null : entry with
        {
            Replaces = await ReadReplacedAsync(session, load),
            Segments = await ReadSegmentsAsync(session, load),
        };
    }, cancellationToken);

    public Task<IReadOnlyList<JournalSegment>> PlanSegmentsAsync(LoadId load, long segmentRows, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(segmentRows, 1);
        return WriteAsync<IReadOnlyList<JournalSegment>>(async session =>
        {
            if (!await LockLoadRowAsync(session, load))
                return [];
            var existing = await ReadSegmentsAsync(session, load);
            var last = await session.NumberAsync($"""
                SELECT l.last_position FROM dbo.loads l
                WHERE l.id = @load AND l.ingest_complete = 1 AND l.purging = 0 AND {MayBeJournaled}
                """, OfLoad(load));
            if (existing.Count > 0 || last is not { } rows)
                return existing;
            for (var (number, first) = (1, 1L); first <= rows; (number, first) = (number + 1, first + segmentRows))
            {
                await session.ExecuteAsync("""
                    INSERT INTO dbo.log_segments (load_id, number, first_position, last_position)
                    VALUES (@load, @segment, @first, @last)
                    """, OfLoad(load), Int("@segment", number), BigInt("@first", first),
                    BigInt("@last", Math.Min(first + segmentRows - 1, rows)));
            }
            return await ReadSegmentsAsync(session, load);
        }, cancellationToken);
    }

    public Task MarkSegmentWrittenAsync(LoadId load, int segment, long bytes, CancellationToken cancellationToken) => WriteAsync(
        "UPDATE dbo.log_segments SET bytes = @bytes WHERE load_id = @load AND number = @segment",
        cancellationToken, OfLoad(load), Int("@segment", segment), BigInt("@bytes", bytes));

    public Task MarkJournaledAsync(LoadId load, long version, CancellationToken cancellationToken) => WriteAsync("""
        UPDATE dbo.loads SET logged_version = CASE WHEN logged_version > @version THEN logged_version ELSE @version END,
            log_error = NULL
        WHERE id = @load AND removing = 0
        """, cancellationToken, OfLoad(load), BigInt("@version", version));

    public Task ForgetJournalAsync(LoadId load, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        const string Forget = "UPDATE dbo.loads SET logged_version = NULL WHERE id = @load AND purging = 0";
        if (await session.ExecuteAsync(Forget, OfLoad(load)) == 1)
            await session.ExecuteAsync("UPDATE dbo.log_segments SET bytes = NULL WHERE load_id = @load", OfLoad(load));
    }, cancellationToken);

    public Task MarkJournalMessageSentAsync(LoadId load, CancellationToken cancellationToken) => WriteAsync(
        "UPDATE dbo.loads SET log_message_at = @now WHERE id = @load", cancellationToken, OfLoad(load));

    public Task SetJournalErrorAsync(LoadId load, string error, CancellationToken cancellationToken) => WriteAsync(
        "UPDATE dbo.loads SET log_error = @error WHERE id = @load", cancellationToken, OfLoad(load), Line("@error", error));

    // Returns the loads that a load has replaced, directly or through other loads; no other load's entry records them.
    private static async Task<IReadOnlyList<LoadId>> ReadReplacedAsync(ISqlSession session, LoadId load)
    {
        var replaced = new HashSet<LoadId>();
        var next = new Queue<LoadId>([load]);
        while (next.TryDequeue(out var by))
        {
            foreach (var id in await session.ListAsync(
                "SELECT id FROM dbo.loads WHERE replaced_by = @load", row => row.Load("id"), OfLoad(by)))
            {
                if (replaced.Add(id))
                    next.Enqueue(id);
            }
        }
        return [.. replaced.OrderBy(id => id.Value)];
    }

    private static async Task<IReadOnlyList<JournalSegment>> ReadSegmentsAsync(ISqlSession session, LoadId load) => await session.ListAsync(
        "SELECT number, first_position, last_position, bytes FROM dbo.log_segments WHERE load_id = @load ORDER BY number",
        row => new JournalSegment(row.Int32("number"), row.Int64("first_position"), row.Int64("last_position"), row.Int64OrNull("bytes")),
        OfLoad(load));
}
