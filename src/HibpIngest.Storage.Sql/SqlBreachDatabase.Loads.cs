using System.Numerics;
using static HibpIngest.Storage.Sql.Parameter;
using static HibpIngest.Storage.Sql.StoredText;

namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    /// <summary>A load's row with the counts of its slices, notifications and callbacks, which {0} restricts.</summary>
    private const string LoadColumns =
        """
        SELECT l.id, b.name, COALESCE(l.mark, 0), l.blob, l.etag, l.state, l.settings, l.checkpoint_json, l.accounts,
            l.last_position, l.matched_position, l.batches, l.ingest_complete, l.duplicates_possible, l.purged, l.error,
            l.started_at, l.ingested_at, l.upserted_at, l.finished_at,
            CASE WHEN l.lease_expires_at > @now THEN l.lease_expires_at END,
            l.published_at, l.replaced_by, l.superseded, l.removing, l.held_because, l.attempts, l.message_sent_at, l.mails_queued,
            CASE WHEN l.lease_expires_at <= @now THEN l.lease_expires_at END,
            CASE WHEN l.log_version > b.log_version THEN l.log_version ELSE b.log_version END, l.logged_version, l.log_message_at,
            l.log_error, l.calls, l.call_error, l.call_messages_at,
            COALESCE(c.calls, 0), COALESCE(c.answered, 0), COALESCE(c.waiting, 0), COALESCE(c.dead, 0),
            COALESCE(s.pending, 0), COALESCE(s.queued, 0), COALESCE(s.done, 0), COALESCE(s.failed, 0), COALESCE(s.entities, 0),
            COALESCE(n.waiting, 0), COALESCE(n.sent, 0), COALESCE(n.failed, 0)
        FROM dbo.loads l
        JOIN dbo.breaches b ON b.breach_key = l.breach
        LEFT JOIN (
            SELECT load_id, SUM(CASE state WHEN 'pending' THEN 1 ELSE 0 END) AS pending,
                SUM(CASE state WHEN 'queued' THEN 1 ELSE 0 END) AS queued, SUM(CASE state WHEN 'done' THEN 1 ELSE 0 END) AS done,
                SUM(CASE state WHEN 'failed' THEN 1 ELSE 0 END) AS failed,
                SUM(CASE state WHEN 'done' THEN CAST(entities AS bigint) ELSE CAST(0 AS bigint) END) AS entities
            FROM dbo.slices {0} GROUP BY load_id) s ON s.load_id = l.id
        LEFT JOIN (
            SELECT load_id, SUM(CASE state WHEN 'open' THEN 1 ELSE 0 END) AS waiting,
                SUM(CASE state WHEN 'sent' THEN 1 ELSE 0 END) AS sent, SUM(CASE state WHEN 'failed' THEN 1 ELSE 0 END) AS failed
            FROM dbo.notifications {0} GROUP BY load_id) n ON n.load_id = l.id
        LEFT JOIN (
            SELECT load_id, SUM(CAST(calls AS bigint)) AS calls, SUM(CAST(answered AS bigint)) AS answered,
                SUM(CASE state WHEN 'open' THEN CAST(calls - answered AS bigint) ELSE 0 END) AS waiting,
                SUM(CASE state WHEN 'dead' THEN CAST(calls - answered AS bigint) ELSE 0 END) AS dead
            FROM dbo.callbacks {0} GROUP BY load_id) c ON c.load_id = l.id
        """;

    private static readonly string OneLoad = CountedOf("WHERE load_id = @load") + " WHERE l.id = @load";
    private static readonly string AllLoads = CountedOf("") + " ORDER BY l.id";

    private static readonly string LoadsOfBreach =
        CountedOf(
            """
            WHERE load_id IN (
                SELECT c.id FROM dbo.loads c JOIN dbo.breaches d ON d.breach_key = c.breach WHERE d.folded_name = @folded)
            """)
        + " WHERE b.folded_name = @folded ORDER BY l.id";

    private const string LoadHeadColumns =
        """
        l.id, b.name, b.hidden, l.blob, l.etag, l.state, COALESCE(l.mark, 0),
            CASE WHEN l.lease_expires_at > @now THEN l.lease_expires_at END, l.message_sent_at,
            CAST(CASE WHEN l.superseded = 1 OR l.removing = 1 OR l.superseded_by IS NOT NULL THEN 1 ELSE 0 END AS bit), l.purged
        FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach
        """;

    /// <summary>Holds loads' mails for an operator: at once, when the load resumes, or once it is matched.</summary>
    private const string HoldLoads =
        """
        UPDATE dbo.loads SET held_because = COALESCE(held_because, @because),
            state = CASE state WHEN 'notifying' THEN 'held' ELSE state END,
            failed_in = CASE failed_in WHEN 'notifying' THEN 'held' ELSE failed_in END
        """;

    public Task<LoadHead?> FindLoadAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        ReadAsync(
            session => session.FirstAsync(
                Most($"{LoadHeadColumns} WHERE {OfVersion} ORDER BY l.generation DESC", "1"), RowReaders.LoadHead, Key(blob)),
            cancellationToken);

    public Task<LoadHead?> GetLoadHeadAsync(long load, CancellationToken cancellationToken) =>
        ReadAsync(
            session => session.FirstAsync($"SELECT {LoadHeadColumns} WHERE l.id = @load", RowReaders.LoadHead, OfLoad(load)),
            cancellationToken);

    public Task<Load> StartLoadAsync(NewLoad load, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                // The second of two concurrent starts of a load or breach violates a key and, retried, finds the first row.
                var newest = Most($"id FROM dbo.loads WHERE {OfVersion} ORDER BY generation DESC", "1");
                if (await session.NumberAsync(newest, Key(load.Blob)) is { } found)
                    return (await ReadLoadAsync(session, found))!;
                // The metadata of a known breach changes only when the load is published.
                if (await AddBreachAsync(session, load.Breach) && load is { Failure: null, Metadata: { } document })
                    await MergeMetadataAsync(session, load.Breach, document, byOperator: false);
                var breach = await BreachKeyAsync(session, load.Breach);
                await AddLoadAsync(session, load.Id, breach, load.Blob, load.Settings, generation: 1, load.HeldBecause);
                if (load.Failure is { } failure)
                    await FailAsync(session, load.Id, failure);
                return (await ReadLoadAsync(session, load.Id))!;
            },
            cancellationToken);

    public Task<Load> RestartLoadAsync(long load, long id, LoadSettings settings, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                var facts = await LockLoadAsync(session, load);
                RefuseStopped(load, facts);
                if (facts.State == LoadState.Done)
                    throw Refusals.LoadDone(load);
                var old = (await ReadLoadAsync(session, load))!;
                var generation = await session.NumberAsync($"SELECT MAX(generation) FROM dbo.loads WHERE {OfVersion}", Key(old.Blob));
                var wasHeld = await session.AnyAsync(
                    "SELECT 1 FROM dbo.loads WHERE id = @load AND 'held' IN (state, failed_in)", OfLoad(load));
                var held = old.HeldBecause ?? (wasHeld ? HeldBefore(load) : null);
                await AddLoadAsync(session, id, facts.Breach, old.Blob, settings, (int)generation!.Value + 1, held);
                var reason = $"restarted as load {id}";
                await FailAsync(session, load, reason);
                await session.ExecuteAsync("UPDATE dbo.loads SET superseded_by = @id WHERE id = @load", OfLoad(load), BigInt("@id", id));
                // So that nothing waits for these slices.
                await session.ExecuteAsync(
                    "UPDATE dbo.slices SET state = 'failed', error = @reason WHERE load_id = @load AND state <> 'done'",
                    OfLoad(load), LongText("@reason", reason));
                return (await ReadLoadAsync(session, id))!;
            },
            cancellationToken);

    public Task<Load?> GetLoadAsync(long load, CancellationToken cancellationToken) =>
        ReadAsync(session => ReadLoadAsync(session, load), cancellationToken);

    public Task<IReadOnlyList<Load>> ListLoadsAsync(string? breach, CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<Load>>(
            async session => breach is null
                ? await session.ListAsync(AllLoads, RowReaders.Load)
                : await session.ListAsync(LoadsOfBreach, RowReaders.Load, Folded(breach)),
            cancellationToken);

    public Task<bool> FailLoadAsync(long load, string? owner, string error, bool superseded, CancellationToken cancellationToken) =>
        WriteAsync(async session => await FailAsync(session, load, error, owner: owner, superseded: superseded) == 1, cancellationToken);

    public Task<IReadOnlyList<HeldWork>> ListHeldAsync(CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<HeldWork>>(
            async session => await session.ListAsync(
                """
                SELECT l.id, b.name, NULL, l.owner, l.lease_expires_at
                FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach
                WHERE l.state IN ('ingesting', 'matching') AND l.owner IS NOT NULL AND l.lease_expires_at > @now
                UNION ALL
                SELECT s.load_id, b.name, s.number, s.owner, s.lease_expires_at
                FROM dbo.slices s JOIN dbo.loads l ON l.id = s.load_id JOIN dbo.breaches b ON b.breach_key = l.breach
                WHERE s.state <> 'done' AND s.owner IS NOT NULL AND s.lease_expires_at > @now
                """,
                row => new HeldWork(row.Int64(0), row.Text(1), row.IsNull(2) ? null : row.Int32(2), row.Text(3), row.Time(4))),
            cancellationToken);

    public Task<IReadOnlyList<LoadWork>> ListWorkAsync(IReadOnlyCollection<long> loads, CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<LoadWork>>(
            async session =>
            {
                var work = new List<LoadWork>(loads.Count);
                foreach (var load in loads)
                {
                    var slices = await session.ListAsync(
                        """
                        SELECT pending_since, CASE WHEN state = 'done' OR lease_expires_at > @now THEN active_at END,
                            CASE WHEN state = 'done' THEN done_at END,
                            CASE WHEN state <> 'done' AND lease_expires_at > @now THEN done_transactions END
                        FROM dbo.slices WHERE load_id = @load ORDER BY number
                        """,
                        row => new SliceTimes(
                            row.Time(0), row.TimeOrNull(1), row.TimeOrNull(2), row.IsNull(3) ? 0 : PartOf(row.Bytes(3))),
                        OfLoad(load));
                    var mails = await session.FirstAsync(
                        "SELECT MIN(completed_at), MAX(completed_at) FROM dbo.notifications WHERE load_id = @load",
                        row => new LoadWork(load, slices, row.TimeOrNull(0), row.TimeOrNull(1)), OfLoad(load));
                    work.Add(mails ?? new LoadWork(load, slices, null, null));
                }
                return work;
            },
            cancellationToken);

    /// <summary>One bit per transaction. Spare bits of the last byte are 0, so the result is never too high.</summary>
    private static double PartOf(byte[] done) =>
        done.Length == 0 ? 0 : done.Sum(bits => (double)BitOperations.PopCount(bits)) / (8.0 * done.Length);

    public Task MarkMessageSentAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(
            session => session.ExecuteAsync("UPDATE dbo.loads SET message_sent_at = @now WHERE id = @load", OfLoad(load)),
            cancellationToken);

    public Task<LoadState> ResumeLoadAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                var failed = await LockLoadAsync(session, load);
                if (failed.State != LoadState.Failed)
                    return failed.State;
                RefuseStopped(load, failed);
                RefusePurged(load, failed, "resumed");
                await session.ExecuteAsync(
                    """
                    UPDATE dbo.loads SET state = failed_in, failed_in = NULL, error = NULL, attempts = 0, message_sent_at = NULL,
                        mails_queued = 0, finished_at = NULL
                    WHERE id = @load
                    """,
                    OfLoad(load));
                await session.ExecuteAsync(
                    """
                    UPDATE dbo.slices SET state = 'pending', attempts = 0, error = NULL, pending_since = @now
                    WHERE load_id = @load AND state = 'failed'
                    """,
                    OfLoad(load));
                await session.ExecuteAsync(
                    "UPDATE dbo.notifications SET attempts = 0 WHERE load_id = @load AND state = 'open' AND attempts > 0", OfLoad(load));
                return (await ReadFactsAsync(session, load))!.State;
            },
            cancellationToken);

    public Task AssignLoadAsync(long load, string breach, ReadOnlyMemory<byte>? document, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                var facts = await LockLoadAsync(session, load);
                if (facts.Removing)
                    throw Refusals.Removing(load);
                if (facts.State is not (LoadState.Done or LoadState.Failed or LoadState.Held))
                    throw Refusals.AssignOpen(load);
                if (facts.State == LoadState.Done && (await ReadLoadAsync(session, load))!.AwaitsCalls)
                    throw Refusals.AssignCalling(load);
                var other = await session.NumberAsync(
                    "SELECT MIN(id) FROM dbo.loads WHERE id <> @load AND mark = (SELECT mark FROM dbo.loads WHERE id = @load)",
                    OfLoad(load));
                if (other is not null)
                    throw Refusals.AssignShared(load, other.Value);
                await AddBreachAsync(session, breach);
                await LockBreachAsync(session, breach);
                if (document is { } merged)
                    await MergeMetadataAsync(session, breach, merged, byOperator: false);
                var to = await BreachKeyAsync(session, breach);
                Parameter[] given = [OfLoad(load), Int("@to", to)];
                var held = HoldReason.AfterAssignment((await ReadLoadAsync(session, load))!.HeldBecause);
                await session.ExecuteAsync(
                    "UPDATE dbo.loads SET breach = @to, held_because = @held WHERE id = @load", [.. given, LongText("@held", held)]);
                await MoveNotificationsAsync(session, load, to);
                await session.ExecuteAsync(
                    """
                    UPDATE dbo.breaches SET published_at = COALESCE(published_at, (SELECT published_at FROM dbo.loads WHERE id = @load))
                    WHERE breach_key = @to
                    """,
                    given);
                // The published number of accounts changes for both breaches.
                await session.ExecuteAsync(
                    """
                    UPDATE dbo.breaches SET modified_at = @now WHERE breach_key IN (@from, @to) AND @from <> @to
                        AND EXISTS (SELECT 1 FROM dbo.loads WHERE id = @load AND published_at IS NOT NULL)
                    """,
                    OfLoad(load), Int("@from", facts.Breach), Int("@to", to));
                await DeleteEmptyBreachAsync(session, facts.Breach, to);
                await RaiseCatalogueVersionAsync(session);
                return await RaiseLogVersionAsync(session, "loads", "id = @load", OfLoad(load));
            },
            cancellationToken);

    /// <summary>Moves a load's notifications to another breach, except for open ones that the breach already has.</summary>
    private static async Task MoveNotificationsAsync(ISqlSession session, long load, int to)
    {
        Parameter[] given = [OfLoad(load), Int("@to", to)];
        await session.ExecuteAsync(
            """
            DELETE FROM dbo.notifications WHERE load_id = @load AND state = 'open' AND breach <> @to
                AND subscriber IN (SELECT subscriber FROM dbo.notifications WHERE breach = @to)
            """,
            given);
        await session.ExecuteAsync(
            """
            UPDATE dbo.notifications SET breach = @to
            WHERE load_id = @load AND subscriber NOT IN (SELECT subscriber FROM dbo.notifications WHERE breach = @to)
            """,
            given);
    }

    /// <summary>Deletes a breach that a load was moved from, unless it has other loads or notifications.</summary>
    private static Task<int> DeleteEmptyBreachAsync(ISqlSession session, int from, int to) =>
        session.ExecuteAsync(
            """
            DELETE FROM dbo.breaches
            WHERE breach_key = @from AND breach_key <> @to AND NOT EXISTS (SELECT 1 FROM dbo.loads WHERE breach = @from)
                AND NOT EXISTS (SELECT 1 FROM dbo.notifications WHERE breach = @from)
            """,
            Int("@from", from), Int("@to", to));

    private Parameter[] Key(BlobVersion blob) => [.. Version(blob).Where(one => _versionColumns.Contains(one.Name[1..]))];

    private static string CountedOf(string which) => LoadColumns.Replace("{0}", which, StringComparison.Ordinal);

    private async Task AddLoadAsync(
        ISqlSession session, long id, int breach, BlobVersion blob, LoadSettings settings, int generation, string? heldBecause)
    {
        var version = _versionColumns.Union(["blob", "etag"]).ToList();
        await session.ExecuteAsync(
            $"""
            INSERT INTO dbo.loads (
                id, breach, {string.Join(", ", version)}, generation, state, settings, checkpoint_json, held_because, started_at)
            VALUES (@id, @breach, @{string.Join(", @", version)}, @generation, 'ingesting', @settings, @checkpoint, @because, @now)
            """,
            [
                BigInt("@id", id), Int("@breach", breach), .. Version(blob), Int("@generation", generation),
                LongText("@settings", ToText(settings)), LongText("@checkpoint", ToText(new LoadCheckpoint())),
                Line("@because", heldBecause),
            ]);
        await RaiseHighestAsync(session, new StoreIds(id, 0));
    }

    /// <summary>
    /// Fails a load that isn't done. A load that was restarted keeps that as its reason; it resumes in the state of the first failure.
    /// </summary>
    private static Task<int> FailAsync(
        ISqlSession session, long load, string error, bool onlyFirst = false, string? owner = null, bool superseded = false) =>
        session.ExecuteAsync(
            $"""
            UPDATE dbo.loads SET failed_in = COALESCE(failed_in, state), state = 'failed', error = @error, finished_at = @now, owner = NULL,
                lease_expires_at = NULL {(superseded ? ", superseded = 1" : "")}
            WHERE id = @load AND state <> 'done' {(onlyFirst ? "AND state <> 'failed'" : "")} AND superseded_by IS NULL
                {(owner is null ? "" : "AND owner = @owner")}
            """,
            [OfLoad(load), Line("@error", error), .. owner is null ? (Parameter[])[] : [Owner(owner)]]);

    /// <summary>
    /// Locks a load and its breach for the rest of the transaction, against everything that changes the load as a whole, and reads what
    /// later statements rely on. The rows are the locks: an UPDATE that changes nothing locks them on every server, at every isolation
    /// level. The load comes first, as in copying a batch and matching a range, which hold it for long.
    /// </summary>
    private static async Task<LoadFacts> LockLoadAsync(ISqlSession session, long load)
    {
        if (!await LockLoadRowAsync(session, load))
            throw Refusals.NoLoad(load);
        await session.ExecuteAsync(
            "UPDATE dbo.breaches SET name = name WHERE breach_key = (SELECT breach FROM dbo.loads WHERE id = @load)", OfLoad(load));
        return (await ReadFactsAsync(session, load))!;
    }

    private protected static async Task<bool> LockLoadRowAsync(ISqlSession session, long load) =>
        await session.ExecuteAsync("UPDATE dbo.loads SET generation = generation WHERE id = @load", OfLoad(load)) == 1;

    private static Task<LoadFacts?> ReadFactsAsync(ISqlSession session, long load) =>
        session.FirstAsync(
            "SELECT breach, state, superseded_by, purging, superseded, removing FROM dbo.loads WHERE id = @load",
            row => new LoadFacts(
                row.Int32(0), ToLoadState(row.Text(1)), row.NumberOrNull(2), row.Boolean(3), row.Boolean(4), row.Boolean(5)),
            OfLoad(load));

    /// <summary>Throws if the load can't be resumed under its own id.</summary>
    private static void RefuseStopped(long load, LoadFacts facts)
    {
        if (facts.RestartedAs is { } restarted)
            throw Refusals.Restarted(load, restarted);
        if (facts.Superseded)
            throw Refusals.Superseded(load);
        if (facts.Removing)
            throw Refusals.Removing(load);
    }

    private static void RefusePurged(long load, LoadFacts facts, string request)
    {
        if (facts.Purging)
            throw Refusals.Purged(load, request);
    }

    private static Task<Load?> ReadLoadAsync(ISqlSession session, long load) => session.FirstAsync(OneLoad, RowReaders.Load, OfLoad(load));

    private sealed record LoadFacts(int Breach, LoadState State, long? RestartedAs, bool Purging, bool Superseded, bool Removing);
}
