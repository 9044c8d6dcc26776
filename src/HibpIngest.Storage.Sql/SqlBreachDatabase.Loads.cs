using System.Numerics;

namespace HibpIngest.Storage.Sql;

public abstract partial class SqlBreachDatabase
{
    // A load's row with the counts of its slices, notifications and callbacks, which {0} restricts.
    private const string LoadColumns = """
        SELECT l.id, b.name, COALESCE(l.mark, 0) AS mark, l.blob, l.etag, l.state, l.settings, l.checkpoint_json, l.accounts,
            l.last_position, l.matched_position, l.batches, l.ingest_complete, l.duplicates_possible, l.purged, l.error,
            l.started_at, l.ingested_at, l.upserted_at, l.finished_at,
            CASE WHEN l.lease_expires_at > @now THEN l.lease_expires_at END AS lease_expires_at,
            l.published_at, l.replaced_by, l.superseded, l.removing, l.held_because, l.attempts, l.message_sent_at, l.mails_queued,
            CASE WHEN l.lease_expires_at <= @now THEN l.lease_expires_at END AS lease_ended_at,
            CASE WHEN l.log_version > b.log_version THEN l.log_version ELSE b.log_version END AS log_version,
            l.logged_version, l.log_message_at, l.log_error, l.calls, l.call_error, l.call_messages_at,
            COALESCE(c.calls, 0) AS calls_all, COALESCE(c.answered, 0) AS calls_answered,
            COALESCE(c.waiting, 0) AS calls_open, COALESCE(c.dead, 0) AS calls_dead,
            COALESCE(s.pending, 0) AS slices_pending, COALESCE(s.queued, 0) AS slices_queued,
            COALESCE(s.done, 0) AS slices_done, COALESCE(s.failed, 0) AS slices_failed, COALESCE(s.entities, 0) AS entities,
            COALESCE(n.waiting, 0) AS mails_open, COALESCE(n.sent, 0) AS mails_sent, COALESCE(n.failed, 0) AS mails_failed
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
        CountedOf("""
            WHERE load_id IN (
                SELECT c.id FROM dbo.loads c JOIN dbo.breaches d ON d.breach_key = c.breach WHERE d.folded_name = @folded)
            """)
        + " WHERE b.folded_name = @folded ORDER BY l.id";

    private const string LoadHeadColumns = """
        l.id, b.name, b.hidden, l.blob, l.etag, l.state, COALESCE(l.mark, 0) AS mark,
            CASE WHEN l.lease_expires_at > @now THEN l.lease_expires_at END AS lease_expires_at,
            CAST(CASE WHEN l.superseded = 1 OR l.removing = 1 OR l.superseded_by IS NOT NULL THEN 1 ELSE 0 END AS bit) AS stopped
        FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach
        """;

    private static Load ReadLoad(IRow row) => new()
    {
        Id = row.Load("id"),
        Breach = row.Text("name"),
        Mark = row.Int32("mark"),
        Blob = new BlobVersion(row.Text("blob"), row.Text("etag")),
        State = ToLoadState(row.Text("state")),
        Settings = ToSettings(row.Text("settings")),
        Checkpoint = ToCheckpoint(row.Text("checkpoint_json")),
        Accounts = row.Int64("accounts"),
        LastPosition = row.Int64("last_position"),
        MatchedPosition = row.Int64("matched_position"),
        Batches = row.Int32("batches"),
        IngestComplete = row.Boolean("ingest_complete"),
        DuplicatesPossible = row.Boolean("duplicates_possible"),
        Purged = row.Boolean("purged"),
        Error = row.TextOrNull("error"),
        StartedAt = row.Time("started_at"),
        IngestedAt = row.TimeOrNull("ingested_at"),
        UpsertedAt = row.TimeOrNull("upserted_at"),
        FinishedAt = row.TimeOrNull("finished_at"),
        LeaseExpiresAt = row.TimeOrNull("lease_expires_at"),
        PublishedAt = row.TimeOrNull("published_at"),
        ReplacedBy = row.LoadOrNull("replaced_by"),
        Superseded = row.Boolean("superseded"),
        Removing = row.Boolean("removing"),
        HeldBecause = row.TextOrNull("held_because"),
        Attempts = row.Int32("attempts"),
        MessageSentAt = row.TimeOrNull("message_sent_at"),
        LastQueuedNotification = row.Int32("mails_queued"),
        LeaseRanOutAt = row.TimeOrNull("lease_ended_at"),
        ChangedVersion = row.Int64("log_version"),
        JournaledVersion = row.Int64OrNull("logged_version"),
        JournalMessageAt = row.TimeOrNull("log_message_at"),
        JournalError = row.TextOrNull("log_error"),
        Calls = row.TextOrNull("calls") is not { } calls ? null : new CallProgress(
            calls == "made", row.Int64("calls_all"), row.Int64("calls_answered"), row.Int64("calls_open"), row.Int64("calls_dead"),
            row.TextOrNull("call_error"), row.TimeOrNull("call_messages_at"))
        {
            IsFailed = calls == "failed",
        },
        Slices = new SliceCounts(
            row.Int32("slices_pending"), row.Int32("slices_queued"), row.Int32("slices_done"), row.Int32("slices_failed")),
        Entities = row.Int64("entities"),
        Notifications = new NotificationCounts(row.Int32("mails_open"), row.Int32("mails_sent"), row.Int32("mails_failed")),
    };

    private static LoadHead ReadLoadHead(IRow row) => new()
    {
        Id = row.Load("id"),
        Breach = row.Text("name"),
        Hidden = row.Boolean("hidden"),
        Blob = new BlobVersion(row.Text("blob"), row.Text("etag")),
        State = ToLoadState(row.Text("state")),
        Mark = row.Int32("mark"),
        LeaseExpiresAt = row.TimeOrNull("lease_expires_at"),
        Stopped = row.Boolean("stopped"),
    };

    // Holds loads' mails for an operator: at once, when the load resumes, or once it is matched.
    private const string HoldLoads = """
        UPDATE dbo.loads SET held_because = COALESCE(held_because, @because),
            state = CASE state WHEN 'notifying' THEN 'held' ELSE state END,
            failed_in = CASE failed_in WHEN 'notifying' THEN 'held' ELSE failed_in END
        """;

    public Task<LoadHead?> FindLoadAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        ReadAsync(session => FindHeadAsync(session, blob), cancellationToken);

    public Task<LoadHead?> GetLoadHeadAsync(LoadId load, CancellationToken cancellationToken) => ReadAsync(
        session => session.FirstAsync($"SELECT {LoadHeadColumns} WHERE l.id = @load", ReadLoadHead, OfLoad(load)), cancellationToken);

    public Task<LoadHead> StartLoadAsync(NewLoad load, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        // The second of two concurrent starts of a load or breach violates a key and, retried, finds the first row.
        if (await FindHeadAsync(session, load.Blob) is { } found)
            return found;
        // The metadata of a known breach changes only when the load is published.
        if (await AddBreachAsync(session, load.Breach) && load is { Failure: null, Metadata: { } document })
            await MergeMetadataAsync(session, load.Breach, document, byOperator: false);
        var breach = await BreachKeyAsync(session, load.Breach);
        await AddLoadAsync(session, load.Id, breach, load.Blob, load.Settings, generation: 1, load.HeldBecause);
        if (load.Failure is { } failure)
            await FailAsync(session, load.Id, failure);
        return (await FindHeadAsync(session, load.Blob))!;
    }, cancellationToken);

    public Task<Load> RestartLoadAsync(LoadId load, LoadId id, LoadSettings settings, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            var facts = await LockLoadAsync(session, load);
            RefuseStopped(load, facts);
            if (facts.State == LoadState.Done)
                throw Refusals.LoadDone(load);
            var old = (await ReadLoadAsync(session, load))!;
            var generation = await session.NumberAsync($"SELECT MAX(generation) FROM dbo.loads WHERE {OfVersion}", Key(old.Blob));
            var wasHeld = await session.AnyAsync("SELECT 1 FROM dbo.loads WHERE id = @load AND 'held' IN (state, failed_in)", OfLoad(load));
            var held = old.HeldBecause ?? (wasHeld ? HeldBefore(load) : null);
            await AddLoadAsync(session, id, facts.Breach, old.Blob, settings, (int)generation!.Value + 1, held);
            var reason = $"restarted as load {id}";
            await FailAsync(session, load, reason);
            await session.ExecuteAsync("UPDATE dbo.loads SET superseded_by = @id WHERE id = @load", OfLoad(load), Load("@id", id));
            // These slices are ended, so that nothing waits for them.
            await session.ExecuteAsync(
                "UPDATE dbo.slices SET state = 'failed', error = @reason WHERE load_id = @load AND state <> 'done'",
                OfLoad(load), LongText("@reason", reason));
            return (await ReadLoadAsync(session, id))!;
        }, cancellationToken);

    public Task<Load?> GetLoadAsync(LoadId load, CancellationToken cancellationToken) =>
        ReadAsync(session => ReadLoadAsync(session, load), cancellationToken);

    public Task<IReadOnlyList<Load>> ListLoadsAsync(string? breach, CancellationToken cancellationToken) =>
        breach is null
            ? ListAsync(AllLoads, ReadLoad, cancellationToken)
            : ListAsync(LoadsOfBreach, ReadLoad, cancellationToken, Folded(breach));

    public Task<bool> FailLoadAsync(LoadId load, string? owner, string error, bool superseded, CancellationToken cancellationToken) =>
        WriteAsync(async session => await FailAsync(session, load, error, owner: owner, superseded: superseded) == 1, cancellationToken);

    public Task<IReadOnlyList<HeldWork>> ListLeasesAsync(CancellationToken cancellationToken) => ListAsync("""
        SELECT l.id, b.name, NULL AS slice, l.owner, l.lease_expires_at
        FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach
        WHERE l.state IN ('ingesting', 'matching') AND l.owner IS NOT NULL AND l.lease_expires_at > @now
        UNION ALL
        SELECT s.load_id, b.name, s.number, s.owner, s.lease_expires_at
        FROM dbo.slices s JOIN dbo.loads l ON l.id = s.load_id JOIN dbo.breaches b ON b.breach_key = l.breach
        WHERE s.state <> 'done' AND s.owner IS NOT NULL AND s.lease_expires_at > @now
        """,
        row => new HeldWork(row.Load("id"), row.Text("name"), row.Int32OrNull("slice"), row.Text("owner"), row.Time("lease_expires_at")),
        cancellationToken);

    public Task<IReadOnlyList<LoadWork>> ListWorkAsync(IReadOnlyCollection<LoadId> loads, CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<LoadWork>>(async session =>
        {
            var work = new List<LoadWork>(loads.Count);
            foreach (var load in loads)
            {
                var slices = await session.ListAsync("""
                    SELECT pending_since, CASE WHEN state = 'done' OR lease_expires_at > @now THEN active_at END AS begun_at,
                        CASE WHEN state = 'done' THEN done_at END AS done_at,
                        CASE WHEN state <> 'done' AND lease_expires_at > @now THEN done_transactions END AS done_transactions
                    FROM dbo.slices WHERE load_id = @load ORDER BY number
                    """,
                    row => new SliceTimes(
                        row.Time("pending_since"), row.TimeOrNull("begun_at"), row.TimeOrNull("done_at"),
                        row.IsNull("done_transactions") ? 0 : PartOf(row.Bytes("done_transactions"))),
                    OfLoad(load));
                work.AddRange(await session.ListAsync(
                    "SELECT MIN(completed_at) AS first_at, MAX(completed_at) AS last_at FROM dbo.notifications WHERE load_id = @load",
                    row => new LoadWork(load, slices, row.TimeOrNull("first_at"), row.TimeOrNull("last_at")), OfLoad(load)));
            }
            return work;
        }, cancellationToken);

    // One bit per transaction. Spare bits of the last byte are 0, so the result is never too high.
    private static double PartOf(byte[] done) =>
        done.Length == 0 ? 0 : done.Sum(bits => (double)BitOperations.PopCount(bits)) / (8.0 * done.Length);

    public Task MarkMessageSentAsync(LoadId load, CancellationToken cancellationToken) => WriteAsync(
        "UPDATE dbo.loads SET message_sent_at = @now WHERE id = @load", cancellationToken, OfLoad(load));

    public Task<LoadState> ResumeLoadAsync(LoadId load, CancellationToken cancellationToken) => WriteAsync(async session =>
    {
        var failed = await LockLoadAsync(session, load);
        if (failed.State != LoadState.Failed)
            return failed.State;
        RefuseStopped(load, failed);
        if (failed.Purging)
            throw Refusals.Purged(load, "resumed");
        await session.ExecuteAsync("""
            UPDATE dbo.loads SET state = failed_in, failed_in = NULL, error = NULL, attempts = 0, message_sent_at = NULL,
                mails_queued = 0, finished_at = NULL
            WHERE id = @load
            """, OfLoad(load));
        await session.ExecuteAsync("""
            UPDATE dbo.slices SET state = 'pending', attempts = 0, error = NULL, pending_since = @now
            WHERE load_id = @load AND state = 'failed'
            """, OfLoad(load));
        await session.ExecuteAsync(
            "UPDATE dbo.notifications SET attempts = 0 WHERE load_id = @load AND state = 'open' AND attempts > 0", OfLoad(load));
        return (await ReadFactsAsync(session, load))!.State;
    }, cancellationToken);

    public Task AssignLoadAsync(LoadId load, string breach, ReadOnlyMemory<byte>? document, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            var facts = await LockLoadAsync(session, load);
            if (facts.Removing)
                throw Refusals.Removing(load);
            if (facts.State is not (LoadState.Done or LoadState.Failed or LoadState.Held))
                throw Refusals.AssignOpen(load);
            if (facts.State == LoadState.Done && (await ReadLoadAsync(session, load))!.AwaitsCalls)
                throw Refusals.AssignCalling(load);
            var other = await session.LoadAsync(
                "SELECT MIN(id) FROM dbo.loads WHERE id <> @load AND mark = (SELECT mark FROM dbo.loads WHERE id = @load)",
                OfLoad(load));
            if (other is not null)
                throw Refusals.AssignShared(load, other.Value);
            await AddBreachAsync(session, breach);
            await LockBreachAsync(session, breach);
            if (document is { } merged)
                await MergeMetadataAsync(session, breach, merged, byOperator: false);
            var to = await BreachKeyAsync(session, breach);
            Parameter[] parameters = [OfLoad(load), Int("@to", to)];
            var held = HoldReason.AfterAssignment((await ReadLoadAsync(session, load))!.HeldBecause);
            await session.ExecuteAsync(
                "UPDATE dbo.loads SET breach = @to, held_because = @held WHERE id = @load", [.. parameters, LongText("@held", held)]);
            await MoveNotificationsAsync(session, load, to);
            await session.ExecuteAsync("""
                UPDATE dbo.breaches SET published_at = COALESCE(published_at, (SELECT published_at FROM dbo.loads WHERE id = @load))
                WHERE breach_key = @to
                """, parameters);
            // The published number of accounts changes for both breaches.
            await session.ExecuteAsync("""
                UPDATE dbo.breaches SET modified_at = @now WHERE breach_key IN (@from, @to) AND @from <> @to
                    AND EXISTS (SELECT 1 FROM dbo.loads WHERE id = @load AND published_at IS NOT NULL)
                """, OfLoad(load), Int("@from", facts.Breach), Int("@to", to));
            await DeleteEmptyBreachAsync(session, facts.Breach, to);
            await RaiseCatalogueVersionAsync(session);
            return await RaiseJournalVersionAsync(session, "loads", "id = @load", OfLoad(load));
        }, cancellationToken);

    private static async Task MoveNotificationsAsync(ISqlSession session, LoadId load, int to)
    {
        Parameter[] parameters = [OfLoad(load), Int("@to", to)];
        await session.ExecuteAsync("""
            DELETE FROM dbo.notifications WHERE load_id = @load AND state = 'open' AND breach <> @to
                AND subscriber IN (SELECT subscriber FROM dbo.notifications WHERE breach = @to)
            """, parameters);
        await session.ExecuteAsync("""
            UPDATE dbo.notifications SET breach = @to
            WHERE load_id = @load AND subscriber NOT IN (SELECT subscriber FROM dbo.notifications WHERE breach = @to)
            """, parameters);
    }

    private static Task<int> DeleteEmptyBreachAsync(ISqlSession session, int from, int to) => session.ExecuteAsync("""
        DELETE FROM dbo.breaches
        WHERE breach_key = @from AND breach_key <> @to AND NOT EXISTS (SELECT 1 FROM dbo.loads WHERE breach = @from)
            AND NOT EXISTS (SELECT 1 FROM dbo.notifications WHERE breach = @from)
        """, Int("@from", from), Int("@to", to));

    private Parameter[] Key(BlobVersion blob) => [.. Version(blob).Where(one => _versionColumns.Contains(one.Name[1..]))];

    private Task<LoadHead?> FindHeadAsync(ISqlSession session, BlobVersion blob) => session.FirstAsync(
        Limit($"{LoadHeadColumns} WHERE {OfVersion} ORDER BY l.generation DESC", "1"), ReadLoadHead, Key(blob));

    private static string CountedOf(string which) => LoadColumns.Replace("{0}", which, StringComparison.Ordinal);

    private async Task AddLoadAsync(
        ISqlSession session, LoadId id, int breach, BlobVersion blob, LoadSettings settings, int generation, string? heldBecause)
    {
        var version = _versionColumns.Union(["blob", "etag"]).ToList();
        await session.ExecuteAsync($"""
            INSERT INTO dbo.loads (
                id, breach, {string.Join(", ", version)}, generation, state, settings, checkpoint_json, held_because, started_at)
            VALUES (@id, @breach, @{string.Join(", @", version)}, @generation, 'ingesting', @settings, @checkpoint, @because, @now)
            """, [
                Load("@id", id), Int("@breach", breach), .. Version(blob), Int("@generation", generation),
                LongText("@settings", ToText(settings)), LongText("@checkpoint", ToText(new LoadCheckpoint())),
                Line("@because", heldBecause),
            ]);
        await RaiseHighestAsync(session, new StoreIds(id.Value, 0));
    }

    // A load that was restarted keeps that as its reason; it resumes in the state of the first failure.
    private static Task<int> FailAsync(
        ISqlSession session, LoadId load, string error, bool onlyFirst = false, string? owner = null, bool superseded = false) =>
        session.ExecuteAsync($"""
            UPDATE dbo.loads SET failed_in = COALESCE(failed_in, state), state = 'failed', error = @error, finished_at = @now, owner = NULL,
                lease_expires_at = NULL {(superseded ? ", superseded = 1" : "")}
            WHERE id = @load AND state <> 'done' {(onlyFirst ? "AND state <> 'failed'" : "")} AND superseded_by IS NULL
                {(owner is null ? "" : "AND owner = @owner")}
            """, [OfLoad(load), Line("@error", error), .. owner is null ? (Parameter[])[] : [Owner(owner)]]);

    // Locks a load and its breach for the rest of the transaction, against everything that changes the load as a whole, and reads what
    // later statements rely on. The rows are the locks: an UPDATE that changes nothing locks them on every server, at every isolation
    // level. The load comes first, as in copying a batch and matching a range, which hold it for long.
    private static async Task<LoadFacts> LockLoadAsync(ISqlSession session, LoadId load)
    {
        if (!await LockLoadRowAsync(session, load))
            throw Refusals.NoLoad(load);
        await session.ExecuteAsync(
            "UPDATE dbo.breaches SET name = name WHERE breach_key = (SELECT breach FROM dbo.loads WHERE id = @load)", OfLoad(load));
        return (await ReadFactsAsync(session, load))!;
    }

    private protected static async Task<bool> LockLoadRowAsync(ISqlSession session, LoadId load) =>
        await session.ExecuteAsync("UPDATE dbo.loads SET generation = generation WHERE id = @load", OfLoad(load)) == 1;

    private static Task<LoadFacts?> ReadFactsAsync(ISqlSession session, LoadId load) => session.FirstAsync(
        "SELECT breach, state, superseded_by, purging, superseded, removing FROM dbo.loads WHERE id = @load",
        row => new LoadFacts(
            row.Int32("breach"), ToLoadState(row.Text("state")), row.LoadOrNull("superseded_by"), row.Boolean("purging"),
            row.Boolean("superseded"), row.Boolean("removing")),
        OfLoad(load));

    private static void RefuseStopped(LoadId load, LoadFacts facts)
    {
        if (facts.RestartedAs is { } restarted)
            throw Refusals.Restarted(load, restarted);
        if (facts.Superseded)
            throw Refusals.Superseded(load);
        if (facts.Removing)
            throw Refusals.Removing(load);
    }

    private static Task<Load?> ReadLoadAsync(ISqlSession session, LoadId load) => session.FirstAsync(OneLoad, ReadLoad, OfLoad(load));

    private sealed record LoadFacts(int Breach, LoadState State, LoadId? RestartedAs, bool Purging, bool Superseded, bool Removing);
}
