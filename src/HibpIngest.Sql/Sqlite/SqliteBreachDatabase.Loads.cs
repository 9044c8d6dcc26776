using HibpIngest.Accounts;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using static HibpIngest.Sql.StoredText;

namespace HibpIngest.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    /// <summary>
    /// A row's id is its load's in the upper 23 bits and its position in the lower 40: a million million rows,
    /// eight million loads.
    /// </summary>
    private const int PositionBits = 40;
    private const long MaxPosition = (1L << PositionBits) - 1;

    /// <summary>Rows written or read between two looks at the cancellation token.</summary>
    private const int RowsBetweenChecks = 1_024;

    private const string LoadColumns =
        """
        SELECT l.id, b.name, COALESCE(l.mark, 0), l.blob, l.etag, l.state, l.settings, l.checkpoint, l.accounts, l.last_position, l.matched_position, l.batches, l.ingest_complete,
            l.duplicates_possible, l.purged, l.error, l.started_at, l.ingested_at, l.upserted_at, l.finished_at,
            CASE WHEN l.lease_expires_at > ?2 THEN l.lease_expires_at END, l.published_at, l.replaced_by, l.superseded, l.removing, l.held_because, l.attempts, l.message_sent_at, l.mails_queued,
            CASE WHEN l.lease_expires_at <= ?2 THEN l.lease_expires_at END
        FROM loads l JOIN breaches b ON b.key = l.breach
        """;

    private const string LoadHeadColumns =
        """
        SELECT l.id, b.name, b.hidden, l.blob, l.etag, l.state, COALESCE(l.mark, 0), CASE WHEN l.lease_expires_at > ?1 THEN l.lease_expires_at END, l.message_sent_at,
            l.superseded OR l.removing OR l.superseded_by IS NOT NULL, l.purged
        FROM loads l JOIN breaches b ON b.key = l.breach
        """;

    /// <inheritdoc/>
    public Task<LoadHead?> FindLoadAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        ReadAsync(
            connection =>
            {
                using var row = connection.Prepare($"{LoadHeadColumns} WHERE l.blob = ?2 AND l.etag = ?3 ORDER BY l.generation DESC LIMIT 1", Now, blob.Name, blob.ETag);
                return row.Step() ? RowReaders.LoadHead(row) : null;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<LoadHead?> GetLoadHeadAsync(long load, CancellationToken cancellationToken) =>
        ReadAsync(
            connection =>
            {
                using var row = connection.Prepare($"{LoadHeadColumns} WHERE l.id = ?2", Now, load);
                return row.Step() ? RowReaders.LoadHead(row) : null;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<Load> StartLoadAsync(NewLoad load, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                var blob = load.Blob;
                if (connection.Number("SELECT id FROM loads WHERE blob = ?1 AND etag = ?2 ORDER BY generation DESC LIMIT 1", blob.Name, blob.ETag) is { } found)
                    return ReadLoad(connection, found)!;
                var isNew = connection.Execute(
                    "INSERT INTO breaches (folded_name, name, metadata) VALUES (?1, ?2, ?3) ON CONFLICT (folded_name) DO NOTHING",
                    Fold(load.Breach), load.Breach, ToText(new BreachMetadata())) == 1;
                // What is known of a breach changes when the load is published.
                if (isNew && load is { Failure: null, Metadata: { } document })
                    MergeMetadata(connection, load.Breach, document, byOperator: false);
                var breach = connection.Number("SELECT key FROM breaches WHERE folded_name = ?1", Fold(load.Breach))!.Value;
                AddLoad(connection, load.Id, breach, blob, load.Settings, generation: 1, load.HeldBecause);
                if (load.Failure is { } failure)
                    Fail(connection, load.Id, failure);
                return ReadLoad(connection, load.Id)!;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<Load> RestartLoadAsync(long load, long id, LoadSettings settings, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                var old = RequireLoad(connection, load);
                RefuseStopped(connection, old);
                if (old.State == LoadState.Done)
                    throw Refusals.LoadDone(load);
                var breach = connection.Number("SELECT breach FROM loads WHERE id = ?1", load)!.Value;
                var generation = connection.Number("SELECT MAX(generation) FROM loads WHERE blob = ?1 AND etag = ?2", old.Blob.Name, old.Blob.ETag)!.Value + 1;
                var held = old.HeldBecause ?? (connection.Number("SELECT 1 FROM loads WHERE id = ?1 AND 'held' IN (state, failed_in)", load) is null ? null : HeldBefore(load));
                AddLoad(connection, id, breach, old.Blob, settings, generation, held);
                var reason = $"restarted as load {id}";
                Fail(connection, load, reason);
                connection.Execute("UPDATE loads SET superseded_by = ?2 WHERE id = ?1", load, id);
                // Nobody is to wait for them.
                connection.Execute("UPDATE slices SET state = 'failed', error = ?2 WHERE load = ?1 AND state <> 'done'", load, reason);
                return ReadLoad(connection, id)!;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<Load?> GetLoadAsync(long load, CancellationToken cancellationToken) => ReadAsync(connection => ReadLoad(connection, load), cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Load>> ListLoadsAsync(string? breach, CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<Load>>(
            connection =>
            {
                var loads = breach is null
                    ? ListNumbers(connection, "SELECT id FROM loads ORDER BY id")
                    : ListNumbers(connection, "SELECT l.id FROM loads l JOIN breaches b ON b.key = l.breach WHERE b.folded_name = ?1 ORDER BY l.id", Fold(breach));
                return loads.ConvertAll(load => ReadLoad(connection, load)!);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> TryTakeLoadAsync(long load, LoadState state, string owner, TimeSpan lease, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                """
                UPDATE loads SET attempts = CASE WHEN owner = ?2 THEN attempts ELSE attempts + 1 END, owner = ?2, lease_expires_at = ?3
                WHERE id = ?1 AND state = ?5 AND (owner IS NULL OR owner = ?2 OR lease_expires_at <= ?4)
                """,
                load, owner, Now + lease, Now, ToText(state)) == 1,
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> RenewLoadAsync(long load, string owner, TimeSpan lease, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                "UPDATE loads SET lease_expires_at = ?3 WHERE id = ?1 AND state IN ('ingesting', 'matching') AND owner = ?2", load, owner, Now + lease) == 1,
            cancellationToken);

    /// <inheritdoc/>
    public Task ReleaseLoadAsync(long load, string owner, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                "UPDATE loads SET owner = NULL, lease_expires_at = NULL, attempts = MAX(attempts - 1, 0) WHERE id = ?1 AND owner = ?2", load, owner),
            cancellationToken);

    /// <inheritdoc/>
    public Task<IBatchCopy> OpenCopyAsync(BatchCopyOrder order, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(order.SliceRows, 1);
        ArgumentOutOfRangeException.ThrowIfLessThan(order.Mark, 1);
        return Task.FromResult<IBatchCopy>(new BatchCopy(this, order));
    }

    private Task<IReadOnlyList<Slice>> CommitBatchAsync(
        BatchCopyOrder order, AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible, CancellationToken cancellationToken)
    {
        var load = order.Load;
        if (batch.Count == 0)
            throw new ArgumentException("a batch is never empty", nameof(batch));
        return WriteAsync<IReadOnlyList<Slice>>(
            connection =>
            {
                var now = Now;
                var changed = connection.Execute(
                    """
                    UPDATE loads SET last_position = ?4, accounts = ?4, batches = batches + 1, checkpoint = ?5, duplicates_possible = duplicates_possible OR ?6, attempts = 0,
                        mark = COALESCE(mark, ?7)
                    WHERE id = ?1 AND last_position = ?3 AND owner = ?2 AND state = 'ingesting'
                    """,
                    load, order.Owner, batch.FirstPosition - 1, batch.LastPosition, ToText(checkpoint), duplicatesPossible, order.Mark);
                if (changed == 0)
                    throw new LoadLostException(load);
                RaiseHighest(connection, new StoreIds(0, (int)connection.Number("SELECT mark FROM loads WHERE id = ?1", load)!.Value));
                InsertRows(connection, load, batch, cancellationToken);
                var slices = InsertSlices(connection, load, batch, order.SliceRows, now);
                // From here on, and not from the transaction's start: the copy may have taken longer than the lease.
                connection.Execute("UPDATE loads SET lease_expires_at = ?2 WHERE id = ?1", load, Now + order.Lease);
                return slices;
            },
            cancellationToken);
    }

    /// <inheritdoc/>
    public Task ReadRowsAsync(long load, long first, long last, AccountBatch into, CancellationToken cancellationToken)
    {
        into.Clear();
        into.FirstPosition = first;
        return ReadAsync(
            connection =>
            {
                using var row = connection.Prepare(
                    "SELECT alias, domain FROM rows WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3", RowId(load, first), RowId(load, last), into.Capacity);
                while (row.Step())
                    into.Add(row.Blob(0), row.Blob(1));
                return true;
            },
            cancellationToken);
    }

    /// <inheritdoc/>
    public Task FinishIngestAsync(long load, string owner, LoadCheckpoint checkpoint, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                var changed = connection.Execute(
                    """
                    UPDATE loads SET state = 'upserting', ingest_complete = 1, checkpoint = ?3, ingested_at = ?4, owner = NULL, lease_expires_at = NULL
                    WHERE id = ?1 AND owner = ?2 AND state = 'ingesting'
                    """,
                    load, owner, ToText(checkpoint), Now);
                if (changed == 0)
                    throw new LoadLostException(load);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> FailLoadAsync(long load, string? owner, string error, bool superseded, CancellationToken cancellationToken) =>
        WriteAsync(connection => Fail(connection, load, error, owner, superseded), cancellationToken);

    /// <inheritdoc/>
    public Task MarkMessageSentAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(connection => connection.Execute("UPDATE loads SET message_sent_at = ?2 WHERE id = ?1", load, Now), cancellationToken);

    /// <inheritdoc/>
    public Task<LoadState> ResumeLoadAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                var failed = RequireLoad(connection, load);
                if (failed.State != LoadState.Failed)
                    return failed.State;
                RefuseStopped(connection, failed);
                RefusePurged(connection, load, "resumed");
                connection.Execute("UPDATE loads SET state = failed_in, failed_in = NULL, error = NULL, attempts = 0, message_sent_at = NULL, mails_queued = 0, finished_at = NULL WHERE id = ?1", load);
                connection.Execute("UPDATE slices SET state = 'pending', attempts = 0, error = NULL, pending_since = ?2 WHERE load = ?1 AND state = 'failed'", load, Now);
                connection.Execute("UPDATE notifications SET attempts = 0 WHERE load = ?1 AND state = 'open' AND attempts > 0", load);
                return RequireLoad(connection, load).State;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> TryStartMatchingAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                var changed = connection.Execute(
                    """
                    UPDATE loads SET state = 'matching', matched_position = 0, count_parts = 0, counted_parts = 0, counted = 0,
                        told_subscriber = 0, attempts = 0, message_sent_at = NULL,
                        upserted_at = ?2, last_subscriber = (SELECT COALESCE(MAX(id), 0) FROM subscribers)
                    WHERE id = ?1 AND state = 'upserting' AND NOT EXISTS (SELECT 1 FROM slices WHERE load = ?1 AND state <> 'done')
                    """,
                    load, Now);
                if (changed == 1)
                    connection.Execute("DELETE FROM load_domains WHERE load = ?1", load);
                return changed == 1;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task AssignLoadAsync(long load, string breach, ReadOnlyMemory<byte>? document, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                var found = RequireLoad(connection, load);
                if (found.Removing)
                    throw Refusals.Removing(load);
                if (found.State is not (LoadState.Done or LoadState.Failed or LoadState.Held))
                    throw Refusals.AssignOpen(load);
                if (connection.Number("SELECT MIN(id) FROM loads WHERE id <> ?1 AND mark = (SELECT mark FROM loads WHERE id = ?1)", load) is { } other)
                    throw Refusals.AssignShared(load, other);
                connection.Execute(
                    "INSERT INTO breaches (folded_name, name, metadata) VALUES (?1, ?2, ?3) ON CONFLICT (folded_name) DO NOTHING",
                    Fold(breach), breach, ToText(new BreachMetadata()));
                if (document is { } merged)
                    MergeMetadata(connection, breach, merged, byOperator: false);
                var from = connection.Number("SELECT breach FROM loads WHERE id = ?1", load)!.Value;
                var to = connection.Number("SELECT key FROM breaches WHERE folded_name = ?1", Fold(breach))!.Value;
                connection.Execute("UPDATE loads SET breach = ?2, held_because = ?3 WHERE id = ?1", load, to, HoldReason.AfterAssignment(found.HeldBecause));
                connection.Execute(
                    """
                    DELETE FROM notifications WHERE load = ?1 AND state = 'open' AND breach <> ?2
                        AND EXISTS (SELECT 1 FROM notifications n WHERE n.breach = ?2 AND n.subscriber = notifications.subscriber)
                    """,
                    load, to);
                connection.Execute(
                    """
                    UPDATE notifications SET breach = ?2 WHERE load = ?1
                        AND NOT EXISTS (SELECT 1 FROM notifications n WHERE n.breach = ?2 AND n.subscriber = notifications.subscriber)
                    """,
                    load, to);
                connection.Execute("UPDATE breaches SET published_at = COALESCE(published_at, (SELECT published_at FROM loads WHERE id = ?2)) WHERE key = ?1", to, load);
                connection.Execute(
                    """
                    DELETE FROM breaches
                    WHERE key = ?1 AND key <> ?2 AND NOT EXISTS (SELECT 1 FROM loads WHERE breach = ?1) AND NOT EXISTS (SELECT 1 FROM notifications WHERE breach = ?1)
                    """,
                    from, to);
                connection.Execute("UPDATE store_counters SET catalogue_version = catalogue_version + 1");
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<int> PurgeRowsAsync(long load, int chunkRows, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(chunkRows, 1);
        return WriteAsync(
            connection =>
            {
                var found = RequireLoad(connection, load);
                if (found.Removing)
                    throw Refusals.Removing(load);
                if (found.State is not (LoadState.Done or LoadState.Failed))
                    throw Refusals.LoadOpen(load);
                var removed = DeleteRows(connection, load, chunkRows);
                connection.Execute("UPDATE loads SET purging = 1, purged = ?2 WHERE id = ?1", load, removed == 0);
                return removed;
            },
            cancellationToken);
    }

    /// <inheritdoc/>
    public Task PutPasswordAsync(BlobVersion blob, byte[] sealedPassword, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                "INSERT INTO passwords (blob, etag, sealed) VALUES (?1, ?2, ?3) ON CONFLICT (blob, etag) DO UPDATE SET sealed = excluded.sealed", blob.Name, blob.ETag, sealedPassword),
            cancellationToken);

    /// <inheritdoc/>
    public Task<byte[]?> GetPasswordAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        ReadAsync(
            connection =>
            {
                using var row = connection.Prepare("SELECT sealed FROM passwords WHERE blob = ?1 AND etag = ?2", blob.Name, blob.ETag);
                return row.Step() ? row.Blob(0).ToArray() : null;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task DeletePasswordAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        WriteAsync(connection => connection.Execute("DELETE FROM passwords WHERE blob = ?1 AND etag = ?2", blob.Name, blob.ETag), cancellationToken);

    private static long RowId(long load, long position) => (load << PositionBits) + position;

    private void AddLoad(SqliteSession connection, long id, long breach, BlobVersion blob, LoadSettings settings, long generation, string? heldBecause)
    {
        connection.Execute(
            """
            INSERT INTO loads (id, breach, blob, etag, generation, state, settings, checkpoint, held_because, started_at) VALUES (?1, ?2, ?3, ?4, ?5, 'ingesting', ?6, ?7, ?8, ?9)
            """,
            id, breach, blob.Name, blob.ETag, generation, ToText(settings), ToText(new LoadCheckpoint()), heldBecause is null ? null : OneLine(heldBecause), Now);
        RaiseHighest(connection, new StoreIds(id, 0));
    }

    /// <summary>
    /// Fails a load that isn't done. One that was restarted keeps that as its reason; the state to go back to
    /// is that of the first failure.
    /// </summary>
    private bool Fail(SqliteSession connection, long load, string error, string? owner = null, bool superseded = false) =>
        connection.Execute(
            """
            UPDATE loads SET failed_in = COALESCE(failed_in, state), state = 'failed', error = ?2, finished_at = ?3, owner = NULL, lease_expires_at = NULL, superseded = superseded OR ?5
            WHERE id = ?1 AND state <> 'done' AND superseded_by IS NULL AND (?4 IS NULL OR owner = ?4)
            """,
            load, OneLine(error), Now, owner, superseded) == 1;

    private static void InsertRows(SqliteSession connection, long load, AccountBatch batch, CancellationToken cancellationToken)
    {
        var first = RowId(load, batch.FirstPosition);
        using var insert = connection.Prepare("INSERT INTO rows (id, alias, domain) VALUES (?1, ?2, ?3)");
        for (var i = 0; i < batch.Count; i++)
        {
            if (i % RowsBetweenChecks == 0)
                cancellationToken.ThrowIfCancellationRequested();
            insert.Bind(1, first + i);
            insert.Bind(2, batch.Alias(i));
            insert.Bind(3, batch.Domain(i));
            insert.Run();
        }
    }

    private static List<Slice> InsertSlices(SqliteSession connection, long load, AccountBatch batch, int sliceRows, DateTimeOffset now)
    {
        var slices = Slices(load, batch.FirstPosition, batch.LastPosition, sliceRows, (int)connection.Number("SELECT COALESCE(MAX(number), 0) FROM slices WHERE load = ?1", load)!.Value);
        foreach (var slice in slices)
        {
            connection.Execute(
                "INSERT INTO slices (load, number, first, last, count, state, pending_since) VALUES (?1, ?2, ?3, ?4, ?5, 'pending', ?6)",
                load, slice.Number, slice.First, slice.Last, slice.Count, now);
        }
        return slices;
    }

    private Load RequireLoad(SqliteSession connection, long load) => ReadLoad(connection, load) ?? throw Refusals.NoLoad(load);

    /// <summary>Of a load that can't go on under its own id.</summary>
    private static void RefuseStopped(SqliteSession connection, Load load)
    {
        RefuseRestarted(connection, load.Id);
        if (load.Superseded)
            throw Refusals.Superseded(load.Id);
        if (load.Removing)
            throw Refusals.Removing(load.Id);
    }

    private static void RefuseRestarted(SqliteSession connection, long load)
    {
        if (RestartedAs(connection, load) is { } restarted)
            throw Refusals.Restarted(load, restarted);
    }

    private static long? RestartedAs(SqliteSession connection, long load) => connection.Number("SELECT superseded_by FROM loads WHERE id = ?1", load);

    private static void RefusePurged(SqliteSession connection, long load, string request)
    {
        if (connection.Number("SELECT purging FROM loads WHERE id = ?1", load) == 1)
            throw Refusals.Purged(load, request);
    }

    private Load? ReadLoad(SqliteSession connection, long load)
    {
        using var row = connection.Prepare($"{LoadColumns} WHERE l.id = ?1", load, Now);
        if (!row.Step())
            return null;
        var (slices, entities) = CountSlices(connection, load);
        return RowReaders.Load(row, slices, entities, CountNotifications(connection, load));
    }

    private static (SliceCounts Slices, long Entities) CountSlices(SqliteSession connection, long load)
    {
        using var row = connection.Prepare("SELECT state, COUNT(*), SUM(entities) FROM slices WHERE load = ?1 GROUP BY state", load);
        var counts = new SliceCounts(0, 0, 0, 0);
        var entities = 0L;
        while (row.Step())
        {
            var count = row.Int32(1);
            switch (ToSliceState(row.Text(0)))
            {
                case SliceState.Pending:
                    counts = counts with { Pending = count };
                    break;
                case SliceState.Queued:
                    counts = counts with { Queued = count };
                    break;
                case SliceState.Done:
                    counts = counts with { Done = count };
                    entities = row.Int64(2);
                    break;
                case SliceState.Failed:
                    counts = counts with { Failed = count };
                    break;
            }
        }
        return (counts, entities);
    }

    private static NotificationCounts CountNotifications(SqliteSession connection, long load)
    {
        int Count(string state) => (int)connection.Number("SELECT COUNT(*) FROM notifications WHERE load = ?1 AND state = ?2", load, state)!.Value;
        return new NotificationCounts(Count("open"), Count("sent"), Count("failed"));
    }

    private sealed class BatchCopy(SqliteBreachDatabase database, BatchCopyOrder order) : IBatchCopy
    {
        public Task<IReadOnlyList<Slice>> CommitAsync(AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible, CancellationToken cancellationToken) =>
            database.CommitBatchAsync(order, batch, checkpoint, duplicatesPossible, cancellationToken);

        /// <summary>The one writer is the database's.</summary>
        public ValueTask DisposeAsync() => ValueTask.CompletedTask;
    }
}
