using System.Security.Cryptography;
using System.Text;
using HibpIngest.Accounts;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using Microsoft.Data.SqlClient;
using static HibpIngest.Sql.SqlServer.Parameter;
using static HibpIngest.Sql.StoredText;

namespace HibpIngest.Sql.SqlServer;

public sealed partial class SqlServerBreachDatabase
{
    private const int BlobLength = 1024;
    private const int ETagLength = 256;
    private const int StateLength = 10;

    /// <summary>Slices recorded in one statement.</summary>
    private const int SlicesPerInsert = 1_000;

    /// <summary>A row of a load with its counts: {0} restricts them to what is asked for.</summary>
    private const string LoadColumns =
        """
        SELECT l.id, b.name, COALESCE(l.mark, 0), l.blob, l.etag, l.state, l.settings, l.checkpoint_json, l.accounts, l.last_position, l.matched_position, l.batches, l.ingest_complete,
            l.duplicates_possible, l.purged, l.error, l.started_at, l.ingested_at, l.upserted_at, l.finished_at, CASE WHEN l.lease_expires_at > @now THEN l.lease_expires_at END,
            l.published_at, l.replaced_by, l.superseded, l.removing, l.held_because, l.attempts, l.message_sent_at, l.mails_queued,
            CASE WHEN l.lease_expires_at <= @now THEN l.lease_expires_at END,
            COALESCE(s.pending, 0), COALESCE(s.queued, 0), COALESCE(s.done, 0), COALESCE(s.failed, 0), COALESCE(s.entities, 0),
            COALESCE(n.waiting, 0), COALESCE(n.sent, 0), COALESCE(n.failed, 0)
        FROM dbo.loads l
        JOIN dbo.breaches b ON b.breach_key = l.breach
        LEFT JOIN (
            SELECT load_id, SUM(CASE state WHEN 'pending' THEN 1 ELSE 0 END) AS pending, SUM(CASE state WHEN 'queued' THEN 1 ELSE 0 END) AS queued,
                SUM(CASE state WHEN 'done' THEN 1 ELSE 0 END) AS done, SUM(CASE state WHEN 'failed' THEN 1 ELSE 0 END) AS failed,
                SUM(CASE state WHEN 'done' THEN CAST(entities AS bigint) ELSE CAST(0 AS bigint) END) AS entities
            FROM dbo.slices {0} GROUP BY load_id) s ON s.load_id = l.id
        LEFT JOIN (
            SELECT load_id, SUM(CASE state WHEN 'open' THEN 1 ELSE 0 END) AS waiting, SUM(CASE state WHEN 'sent' THEN 1 ELSE 0 END) AS sent,
                SUM(CASE state WHEN 'failed' THEN 1 ELSE 0 END) AS failed
            FROM dbo.notifications {0} GROUP BY load_id) n ON n.load_id = l.id
        """;

    private static readonly string OneLoad = LoadColumns.Replace("{0}", "WHERE load_id = @load", StringComparison.Ordinal) + " WHERE l.id = @load";
    private static readonly string AllLoads = LoadColumns.Replace("{0}", "", StringComparison.Ordinal);

    private static readonly string LoadsOfBreach = LoadColumns.Replace(
        "{0}", "WHERE load_id IN (SELECT c.id FROM dbo.loads c JOIN dbo.breaches d ON d.breach_key = c.breach WHERE d.folded_name = @folded)", StringComparison.Ordinal)
        + " WHERE b.folded_name = @folded ORDER BY l.id";

    private const string LoadHeadColumns =
        """
        l.id, b.name, b.hidden, l.blob, l.etag, l.state, COALESCE(l.mark, 0), CASE WHEN l.lease_expires_at > @now THEN l.lease_expires_at END, l.message_sent_at,
            CAST(CASE WHEN l.superseded = 1 OR l.removing = 1 OR l.superseded_by IS NOT NULL THEN 1 ELSE 0 END AS bit), l.purged
        FROM dbo.loads l JOIN dbo.breaches b ON b.breach_key = l.breach
        """;

    private readonly AccountBatchReader.Domains _domains = new();

    /// <summary>The load whose copies ran out of time, and how many of its rows go over at once since.</summary>
    private (long Load, int Rows)? _pieces;

    /// <inheritdoc/>
    public Task<LoadHead?> FindLoadAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        ReadAsync(
            session => session.FirstAsync(
                $"SELECT TOP (1) {LoadHeadColumns} WHERE l.blob_version = @version ORDER BY l.generation DESC", RowReaders.LoadHead, Hash("@version", VersionOf(blob))),
            cancellationToken);

    /// <inheritdoc/>
    public Task<LoadHead?> GetLoadHeadAsync(long load, CancellationToken cancellationToken) =>
        ReadAsync(session => session.FirstAsync($"SELECT {LoadHeadColumns} WHERE l.id = @load", RowReaders.LoadHead, BigInt("@load", load)), cancellationToken);

    /// <inheritdoc/>
    public Task<Load> StartLoadAsync(NewLoad load, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                // Of two that start the same load, or the same breach, the second meets a key and then finds
                // what the first has made.
                if (await session.NumberAsync("SELECT TOP (1) id FROM dbo.loads WHERE blob_version = @version ORDER BY generation DESC", Hash("@version", VersionOf(load.Blob))) is { } found)
                    return (await ReadLoadAsync(session, found))!;
                var isNew = await session.ExecuteAsync(
                    """
                    INSERT INTO dbo.breaches (folded_name, name, metadata)
                    SELECT @folded, @name, @metadata WHERE NOT EXISTS (SELECT 1 FROM dbo.breaches WHERE folded_name = @folded)
                    """,
                    Folded(load.Breach), Text("@name", load.Breach, BreachName.MaxLength), LongText("@metadata", ToText(new BreachMetadata()))) == 1;
                // What is known of a breach changes when the load is published.
                if (isNew && load is { Failure: null, Metadata: { } document })
                    await MergeMetadataAsync(session, load.Breach, document, byOperator: false);
                var breach = await session.NumberAsync("SELECT breach_key FROM dbo.breaches WHERE folded_name = @folded", Folded(load.Breach))
                    ?? throw Refusals.NoBreach(load.Breach);
                await AddLoadAsync(session, load.Id, breach, load.Blob, load.Settings, generation: 1, load.HeldBecause);
                if (load.Failure is { } failure)
                    await FailAsync(session, load.Id, failure);
                return (await ReadLoadAsync(session, load.Id))!;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<Load> RestartLoadAsync(long load, long id, LoadSettings settings, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                var facts = await LockLoadAsync(session, load);
                RefuseStopped(load, facts);
                if (facts.State == LoadState.Done)
                    throw Refusals.LoadDone(load);
                var old = (await ReadLoadAsync(session, load))!;
                var generation = (await session.NumberAsync("SELECT MAX(generation) FROM dbo.loads WHERE blob_version = @version", Hash("@version", VersionOf(old.Blob))))!.Value + 1;
                var held = old.HeldBecause
                    ?? (await session.NumberAsync("SELECT 1 FROM dbo.loads WHERE id = @load AND 'held' IN (state, failed_in)", BigInt("@load", load)) is null ? null : HeldBefore(load));
                await AddLoadAsync(session, id, facts.Breach, old.Blob, settings, (int)generation, held);
                var reason = $"restarted as load {id}";
                await FailAsync(session, load, reason);
                await session.ExecuteAsync("UPDATE dbo.loads SET superseded_by = @restarted WHERE id = @load", BigInt("@load", load), BigInt("@restarted", id));
                // Nobody is to wait for them.
                await session.ExecuteAsync(
                    "UPDATE dbo.slices SET state = 'failed', error = @reason WHERE load_id = @load AND state <> 'done'", BigInt("@load", load), LongText("@reason", reason));
                return (await ReadLoadAsync(session, id))!;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<Load?> GetLoadAsync(long load, CancellationToken cancellationToken) => ReadAsync(session => ReadLoadAsync(session, load), cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Load>> ListLoadsAsync(string? breach, CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<Load>>(
            async session => breach is null
                ? await session.ListAsync($"{AllLoads} ORDER BY l.id", ReadLoad)
                : await session.ListAsync(LoadsOfBreach, ReadLoad, Folded(breach)),
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> TryTakeLoadAsync(long load, LoadState state, string owner, TimeSpan lease, CancellationToken cancellationToken) =>
        WriteAsync(
            async session => await session.ExecuteAsync(
                """
                UPDATE dbo.loads SET attempts = CASE WHEN owner = @owner THEN attempts ELSE attempts + 1 END, owner = @owner, lease_expires_at = DATEADD(millisecond, @lease, @now)
                WHERE id = @load AND state = @state AND (owner IS NULL OR owner = @owner OR lease_expires_at <= @now)
                """,
                BigInt("@load", load), VarChar("@state", ToText(state), StateLength), Owner(owner), Milliseconds("@lease", lease)) == 1,
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> RenewLoadAsync(long load, string owner, TimeSpan lease, CancellationToken cancellationToken) =>
        WriteAsync(
            async session => await session.ExecuteAsync(
                """
                UPDATE dbo.loads SET lease_expires_at = DATEADD(millisecond, @lease, @now) WHERE id = @load AND state IN ('ingesting', 'matching') AND owner = @owner
                """,
                BigInt("@load", load), Owner(owner), Milliseconds("@lease", lease)) == 1,
            cancellationToken);

    /// <inheritdoc/>
    public Task ReleaseLoadAsync(long load, string owner, CancellationToken cancellationToken) =>
        WriteAsync(
            session => session.ExecuteAsync(
                """
                UPDATE dbo.loads SET owner = NULL, lease_expires_at = NULL, attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END WHERE id = @load AND owner = @owner
                """,
                BigInt("@load", load), Owner(owner)),
            cancellationToken);

    /// <inheritdoc/>
    public Task<IBatchCopy> OpenCopyAsync(BatchCopyOrder order, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(order.SliceRows, 1);
        ArgumentOutOfRangeException.ThrowIfLessThan(order.Mark, 1);
        return Task.FromResult<IBatchCopy>(new BatchCopy(this, order));
    }

    private async Task<IReadOnlyList<Slice>> CommitBatchAsync(
        BatchCopy copy, BatchCopyOrder order, AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible, CancellationToken cancellationToken)
    {
        var load = order.Load;
        if (batch.Count == 0)
            throw new ArgumentException("a batch is never empty", nameof(batch));
        var rows = Math.Min(PieceRows(load), batch.Count);
        while (true)
        {
            try
            {
                return await WriteWithCommitCheckAsync(
                    async (session, inDoubt) => await TryAdvanceAsync(session, order, batch, checkpoint, duplicatesPossible) is { } advanced
                        ? await CopyBatchAsync(session, order, batch, rows, advanced)
                        : (inDoubt ? await FindCommittedAsync(session, load, order.Owner, batch) : null) ?? throw new LoadLostException(load),
                    cancellationToken,
                    copy: copy);
            }
            catch (CopyTimeoutException) when (rows > SqlServerOptions.SmallestCopyRows)
            {
                var smaller = Math.Max((rows + 1) / 2, SqlServerOptions.SmallestCopyRows);
                LogCopiedInPieces(load, rows, smaller);
                rows = smaller;
                _pieces = (load, rows);
            }
            catch (CopyTimeoutException e)
            {
                throw e.Reported;
            }
        }
    }

    /// <inheritdoc/>
    public Task ReadRowsAsync(long load, long first, long last, AccountBatch into, CancellationToken cancellationToken) =>
        ReadAsync(
            async session =>
            {
                into.Clear();
                into.FirstPosition = first;
                await session.ReadAccountsAsync(
                    into,
                    """
                    SELECT TOP (@most) CAST(alias AS varbinary(64)), CAST(domain AS varbinary(255)) FROM dbo.rows
                    WHERE load_id = @load AND position >= @first AND position <= @last ORDER BY position
                    """,
                    BigInt("@most", into.Capacity), BigInt("@load", load), BigInt("@first", first), BigInt("@last", last));
                return true;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task FinishIngestAsync(long load, string owner, LoadCheckpoint checkpoint, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                var changed = await session.ExecuteAsync(
                    """
                    UPDATE dbo.loads SET state = 'upserting', ingest_complete = 1, checkpoint_json = @checkpoint, ingested_at = @now, owner = NULL, lease_expires_at = NULL
                    WHERE id = @load AND owner = @owner AND state = 'ingesting'
                    """,
                    BigInt("@load", load), Owner(owner), LongText("@checkpoint", ToText(checkpoint)));
                if (changed == 0)
                    throw new LoadLostException(load);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> FailLoadAsync(long load, string? owner, string error, bool superseded, CancellationToken cancellationToken) =>
        WriteAsync(async session => await FailAsync(session, load, error, owner: owner, superseded: superseded) == 1, cancellationToken);

    /// <inheritdoc/>
    public Task MarkMessageSentAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(session => session.ExecuteAsync("UPDATE dbo.loads SET message_sent_at = @now WHERE id = @load", BigInt("@load", load)), cancellationToken);

    /// <inheritdoc/>
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
                    "UPDATE dbo.loads SET state = failed_in, failed_in = NULL, error = NULL, attempts = 0, message_sent_at = NULL, mails_queued = 0, finished_at = NULL WHERE id = @load", BigInt("@load", load));
                await session.ExecuteAsync(
                    "UPDATE dbo.slices SET state = 'pending', attempts = 0, error = NULL, pending_since = @now WHERE load_id = @load AND state = 'failed'", BigInt("@load", load));
                await session.ExecuteAsync("UPDATE dbo.notifications SET attempts = 0 WHERE load_id = @load AND state = 'open' AND attempts > 0", BigInt("@load", load));
                return (await ReadFactsAsync(session, load))!.State;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> TryStartMatchingAsync(long load, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                // Asked first, so that the many slices that are not the last don't wait for the load's row.
                // Then again once it is had: whoever sets slices back holds it.
                const string Ready = "id = @load AND state = 'upserting' AND NOT EXISTS (SELECT 1 FROM dbo.slices WHERE load_id = @load AND state <> 'done')";
                if (await session.NumberAsync($"SELECT 1 FROM dbo.loads WHERE {Ready}", BigInt("@load", load)) is null || !await LockLoadRowAsync(session, load))
                    return false;
                var changed = await session.ExecuteAsync(
                    $"""
                    UPDATE dbo.loads SET state = 'matching', matched_position = 0, count_parts = 0, counted_parts = 0, counted = 0,
                        told_subscriber = 0, attempts = 0, message_sent_at = NULL,
                        upserted_at = @now, last_subscriber = (SELECT COALESCE(MAX(id), 0) FROM dbo.subscribers)
                    WHERE {Ready}
                    """,
                    BigInt("@load", load));
                if (changed == 1)
                    await session.ExecuteAsync("DELETE FROM dbo.load_domains WHERE load_id = @load", BigInt("@load", load));
                return changed == 1;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task AssignLoadAsync(long load, string breach, ReadOnlyMemory<byte>? document, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                var facts = await LockLoadAsync(session, load);
                if (facts.Removing)
                    throw Refusals.Removing(load);
                if (facts.State is not (LoadState.Done or LoadState.Failed or LoadState.Held))
                    throw Refusals.AssignOpen(load);
                var other = await session.NumberAsync(
                    "SELECT MIN(id) FROM dbo.loads WHERE id <> @load AND mark = (SELECT mark FROM dbo.loads WHERE id = @load)", BigInt("@load", load));
                if (other is not null)
                    throw Refusals.AssignShared(load, other.Value);
                await session.ExecuteAsync(
                    """
                    INSERT INTO dbo.breaches (folded_name, name, metadata)
                    SELECT @folded, @name, @metadata WHERE NOT EXISTS (SELECT 1 FROM dbo.breaches WHERE folded_name = @folded)
                    """,
                    Folded(breach), Text("@name", breach, BreachName.MaxLength), LongText("@metadata", ToText(new BreachMetadata())));
                await session.ExecuteAsync("UPDATE dbo.breaches SET name = name WHERE folded_name = @folded", Folded(breach));
                if (document is { } merged)
                    await MergeMetadataAsync(session, breach, merged, byOperator: false);
                var to = (int)(await session.NumberAsync("SELECT breach_key FROM dbo.breaches WHERE folded_name = @folded", Folded(breach)))!.Value;
                var held = HoldReason.AfterAssignment((await ReadLoadAsync(session, load))!.HeldBecause);
                await session.ExecuteAsync(
                    "UPDATE dbo.loads SET breach = @to, held_because = @held WHERE id = @load", BigInt("@load", load), Int("@to", to), LongText("@held", held));
                await session.ExecuteAsync(
                    """
                    DELETE FROM dbo.notifications WHERE load_id = @load AND state = 'open' AND breach <> @to
                        AND subscriber IN (SELECT subscriber FROM dbo.notifications WHERE breach = @to)
                    """,
                    BigInt("@load", load), Int("@to", to));
                await session.ExecuteAsync(
                    "UPDATE dbo.notifications SET breach = @to WHERE load_id = @load AND subscriber NOT IN (SELECT subscriber FROM dbo.notifications WHERE breach = @to)",
                    BigInt("@load", load), Int("@to", to));
                await session.ExecuteAsync(
                    "UPDATE dbo.breaches SET published_at = COALESCE(published_at, (SELECT published_at FROM dbo.loads WHERE id = @load)) WHERE breach_key = @to",
                    BigInt("@load", load), Int("@to", to));
                await session.ExecuteAsync(
                    """
                    DELETE FROM dbo.breaches
                    WHERE breach_key = @from AND breach_key <> @to
                        AND NOT EXISTS (SELECT 1 FROM dbo.loads WHERE breach = @from) AND NOT EXISTS (SELECT 1 FROM dbo.notifications WHERE breach = @from)
                    """,
                    Int("@from", facts.Breach), Int("@to", to));
                return await RaiseCatalogueVersionAsync(session);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<int> PurgeRowsAsync(long load, int chunkRows, CancellationToken cancellationToken)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(chunkRows, 1);
        return WriteAsync(
            async session =>
            {
                var facts = await LockLoadAsync(session, load);
                if (facts.Removing)
                    throw Refusals.Removing(load);
                if (facts.State is not (LoadState.Done or LoadState.Failed))
                    throw Refusals.LoadOpen(load);
                var removed = await DeleteRowsAsync(session, load, chunkRows);
                await session.ExecuteAsync("UPDATE dbo.loads SET purging = 1, purged = @purged WHERE id = @load", BigInt("@load", load), Bit("@purged", removed == 0));
                return removed;
            },
            cancellationToken,
            _options.LongTimeout);
    }

    /// <inheritdoc/>
    public Task PutPasswordAsync(BlobVersion blob, byte[] sealedPassword, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                var (version, password) = (VersionOf(blob), sealedPassword);
                if (await session.ExecuteAsync("UPDATE dbo.passwords SET sealed = @sealed WHERE blob_version = @version", Hash("@version", version), LongBytes("@sealed", password)) == 0)
                    await session.ExecuteAsync("INSERT INTO dbo.passwords (blob_version, sealed) VALUES (@version, @sealed)", Hash("@version", version), LongBytes("@sealed", password));
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<byte[]?> GetPasswordAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        ReadAsync(
            session => session.FirstAsync("SELECT sealed FROM dbo.passwords WHERE blob_version = @version", row => row.Bytes(0), Hash("@version", VersionOf(blob))), cancellationToken);

    /// <inheritdoc/>
    public Task DeletePasswordAsync(BlobVersion blob, CancellationToken cancellationToken) =>
        WriteAsync(session => session.ExecuteAsync("DELETE FROM dbo.passwords WHERE blob_version = @version", Hash("@version", VersionOf(blob))), cancellationToken);

    /// <summary>
    /// Moves the checkpoint, which is the batch's claim on its positions, and records its slices, in one call;
    /// null: the load is another's by now, or in another state, or stands elsewhere.
    /// </summary>
    private static Task<Advanced?> TryAdvanceAsync(SqlServerSession session, BatchCopyOrder order, AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible)
    {
        var slices = (batch.Count + order.SliceRows - 1) / order.SliceRows;
        return session.FirstPreparedAsync(
            $"""
            UPDATE dbo.loads SET last_position = @to, accounts = @to, batches = batches + 1, slices = slices + @slices, checkpoint_json = @checkpoint, attempts = 0,
                duplicates_possible = CASE WHEN @duplicates = 1 THEN 1 ELSE duplicates_possible END, mark = COALESCE(mark, @mark)
            WHERE id = @load AND last_position = @from AND owner = @owner AND state = 'ingesting';
            IF @@ROWCOUNT = 1
            BEGIN
                {InsertSlicesSql(Math.Min(slices, SlicesPerInsert))};
                SELECT slices, batches, mark FROM dbo.loads WHERE id = @load;
            END
            """,
            row => new Advanced(row.Int32(0), row.Int32(1), row.Int32(2)),
            BigInt("@load", order.Load), Owner(order.Owner), BigInt("@from", batch.FirstPosition - 1), BigInt("@to", batch.LastPosition), LongText("@checkpoint", ToText(checkpoint)),
            Bit("@duplicates", duplicatesPossible), Int("@mark", order.Mark), Int("@slices", slices), Int("@done", 0), BigInt("@first", batch.FirstPosition),
            BigInt("@rows", order.SliceRows));
    }

    private async Task<IReadOnlyList<Slice>> CopyBatchAsync(SqlServerSession session, BatchCopyOrder order, AccountBatch batch, int rows, Advanced advanced)
    {
        var (load, sliceRows) = (order.Load, order.SliceRows);
        var slices = (batch.Count + sliceRows - 1) / sliceRows;
        for (var done = SlicesPerInsert; done < slices; done += SlicesPerInsert)
        {
            await session.ExecuteAsync(
                InsertSlicesSql(Math.Min(slices - done, SlicesPerInsert)),
                BigInt("@load", load), Int("@slices", slices), Int("@done", done), BigInt("@first", batch.FirstPosition), BigInt("@rows", sliceRows), BigInt("@to", batch.LastPosition));
        }
        CopyRows(session, load, batch, rows);
        // From here on, and not from the transaction's start: the copy may have taken longer than the lease.
        // Prepared, as the statement before the copy: it runs once a batch.
        await session.FirstPreparedAsync(
            "UPDATE dbo.loads SET lease_expires_at = DATEADD(millisecond, @lease, @now) WHERE id = @load; SELECT slices FROM dbo.loads WHERE id = @load",
            row => new Advanced(row.Int32(0), 0, 0), BigInt("@load", load), Milliseconds("@lease", order.Lease));
        // Behind the copy: whatever inserts an id waits for that row.
        if (advanced.Batches == 1)
            await RaiseHighestAsync(session, new StoreIds(0, advanced.Mark));
        return Slices(load, batch.FirstPosition, batch.LastPosition, sliceRows, advanced.Slices - slices);
    }

    /// <summary>
    /// Records so many slices of a batch, behind those done; the last one may be short. The text depends on
    /// their number only, which hardly changes.
    /// </summary>
    private static string InsertSlicesSql(int count) =>
        $"""
        INSERT INTO dbo.slices (load_id, number, first_position, last_position, row_count, state, pending_since)
        SELECT s.load_id, s.number, s.first_position, s.last_position, s.last_position - s.first_position + 1, 'pending', @now
        FROM (
            SELECT l.id AS load_id, l.slices - @slices + @done + n.i AS number, @first + (@done + n.i - 1) * @rows AS first_position,
                CASE WHEN @done + n.i = @slices THEN @to ELSE @first + (@done + n.i) * @rows - 1 END AS last_position
            FROM dbo.loads l CROSS JOIN (VALUES {string.Join(',', Enumerable.Range(1, count).Select(i => $"({i})"))}) AS n (i)
            WHERE l.id = @load) s
        """;

    /// <summary>
    /// The slices of this very batch where the try before had committed it, though its answer was lost; null
    /// where it did not. <see cref="TryAdvanceAsync"/> has waited for whatever transaction held the load's row,
    /// that try's own among them, so that what is found now stays.
    /// </summary>
    private async Task<IReadOnlyList<Slice>?> FindCommittedAsync(SqlServerSession session, long load, string owner, AccountBatch batch)
    {
        var position = await session.NumberAsync("SELECT last_position FROM dbo.loads WHERE id = @load AND owner = @owner AND state = 'ingesting'", BigInt("@load", load), Owner(owner));
        if (position != batch.LastPosition)
            return null;
        var slices = await session.ListAsync(
            $"SELECT {SliceColumns} FROM dbo.slices s WHERE s.load_id = @load AND s.first_position >= @first ORDER BY s.number",
            RowReaders.Slice, BigInt("@load", load), BigInt("@first", batch.FirstPosition));
        if (slices.Count == 0 || slices[0].First != batch.FirstPosition)
            return null;
        LogWasCommitted(load, batch.LastPosition);
        return slices;
    }

    /// <summary>
    /// The rows by SqlBulkCopy, within the transaction: whatever its own batches are, all of them are committed
    /// with it, or none. Not stopped by cancellation, which would commit nothing but leave the connection in
    /// the middle of a copy. CheckConstraints: without it the copy would need the right to alter the table. No
    /// table lock: on a table with a clustered key it is an exclusive one, which would keep other loads' copies
    /// and purges out, and saves no log under full recovery, which Azure SQL always has.
    /// </summary>
    private void CopyRows(SqlServerSession session, long load, AccountBatch batch, int rows)
    {
        session.ThrowIfCancelled();
        using var bulk = new SqlBulkCopy(session.Connection, SqlBulkCopyOptions.CheckConstraints, session.Transaction)
        {
            DestinationTableName = "dbo.rows",
            BatchSize = 0,
            BulkCopyTimeout = (int)(_options.CopyTimeout > TimeSpan.Zero ? _options.CopyTimeout : _connections.CommandTimeout).TotalSeconds,
        };
        using var reader = new AccountBatchReader(load, batch, _domains);
        for (var column = 0; column < reader.FieldCount; column++)
            bulk.ColumnMappings.Add(column, reader.GetName(column));
        try
        {
            for (var first = 0; first < batch.Count; first += rows)
            {
                reader.Take(first, rows);
                _options.BeforeCopy?.Invoke(Math.Min(rows, batch.Count - first));
                // Not WriteToServerAsync: it allocated 702 MB for a million rows where this allocates 160, and was no faster.
                bulk.WriteToServer(reader);
            }
        }
        catch (Exception e) when (SqlServerErrors.Classify(e, Stage.Working, broken: false, opened: true, DisplayName) is { Kind: FailureKind.TimedOut } failure)
        {
            throw new CopyTimeoutException(failure.Reported);
        }
    }

    /// <summary>Rows of a load that go over at once.</summary>
    internal int PieceRows(long load) => _pieces is { } learnt && learnt.Load == load ? learnt.Rows : _options.CopyRows;

    private static async Task AddLoadAsync(SqlServerSession session, long id, long breach, BlobVersion blob, LoadSettings settings, int generation, string? heldBecause)
    {
        await session.ExecuteAsync(
            """
            INSERT INTO dbo.loads (id, breach, blob, etag, blob_version, generation, state, settings, checkpoint_json, held_because, started_at)
            VALUES (@id, @breach, @blob, @etag, @version, @generation, 'ingesting', @settings, @checkpoint, @because, @now)
            """,
            BigInt("@id", id), Int("@breach", (int)breach), Text("@blob", blob.Name, BlobLength), Text("@etag", blob.ETag, ETagLength), Hash("@version", VersionOf(blob)),
            Int("@generation", generation), LongText("@settings", ToText(settings)), LongText("@checkpoint", ToText(new LoadCheckpoint())),
            LongText("@because", heldBecause is null ? null : OneLine(heldBecause)));
        await RaiseHighestAsync(session, new StoreIds(id, 0));
    }

    /// <summary>
    /// Fails a load that isn't done. One that was restarted keeps that as its reason; the state to go back to
    /// is that of the first failure.
    /// </summary>
    private static Task<int> FailAsync(SqlServerSession session, long load, string error, bool onlyFirst = false, string? owner = null, bool superseded = false) =>
        session.ExecuteAsync(
            $"""
            UPDATE dbo.loads SET failed_in = COALESCE(failed_in, state), state = 'failed', error = @error, finished_at = @now, owner = NULL, lease_expires_at = NULL
                {(superseded ? ", superseded = 1" : "")}
            WHERE id = @load AND state <> 'done' {(onlyFirst ? "AND state <> 'failed'" : "")} AND superseded_by IS NULL {(owner is null ? "" : "AND owner = @owner")}
            """,
            owner is null
                ? [BigInt("@load", load), LongText("@error", OneLine(error))]
                : [BigInt("@load", load), LongText("@error", OneLine(error)), Owner(owner)]);

    /// <summary>
    /// Takes the next rows of a load, whose row is held, away in the order of their positions, and remembers
    /// how far: a range that is named is read once, however many rows before it are gone. 0: none is left.
    /// </summary>
    private static async Task<int> DeleteRowsAsync(SqlServerSession session, long load, int most)
    {
        while (await session.NumberAsync("SELECT purged_position FROM dbo.loads WHERE id = @load AND purged_position < last_position", BigInt("@load", load)) is { } after)
        {
            var removed = await session.ExecuteAsync(
                "DELETE FROM dbo.rows WHERE load_id = @load AND position > @after AND position <= @upTo", BigInt("@load", load), BigInt("@after", after), BigInt("@upTo", after + most));
            await session.ExecuteAsync(
                "UPDATE dbo.loads SET purged_position = CASE WHEN last_position < @upTo THEN last_position ELSE @upTo END WHERE id = @load", BigInt("@load", load), BigInt("@upTo", after + most));
            if (removed > 0)
                return removed;
        }
        return 0;
    }

    /// <summary>
    /// Holds a load and its breach for the rest of the transaction, against all that changes the load as a
    /// whole, and reads what the statements after it may rely on. The rows are the locks: an UPDATE that
    /// changes nothing holds them on every server, at every isolation level. The load comes first, as it does
    /// where a batch is copied and where a range is matched, which hold it long.
    /// </summary>
    private static async Task<LoadFacts> LockLoadAsync(SqlServerSession session, long load)
    {
        if (!await LockLoadRowAsync(session, load))
            throw Refusals.NoLoad(load);
        await session.ExecuteAsync("UPDATE dbo.breaches SET name = name WHERE breach_key = (SELECT breach FROM dbo.loads WHERE id = @load)", BigInt("@load", load));
        return (await ReadFactsAsync(session, load))!;
    }

    private static async Task<bool> LockLoadRowAsync(SqlServerSession session, long load) =>
        await session.ExecuteAsync("UPDATE dbo.loads SET generation = generation WHERE id = @load", BigInt("@load", load)) == 1;

    private static Task<LoadFacts?> ReadFactsAsync(SqlServerSession session, long load) =>
        session.FirstAsync(
            "SELECT breach, state, superseded_by, purging, superseded, removing FROM dbo.loads WHERE id = @load",
            row => new LoadFacts(row.Int32(0), ToLoadState(row.Text(1)), row.IsNull(2) ? null : row.Int64(2), row.Boolean(3), row.Boolean(4), row.Boolean(5)),
            BigInt("@load", load));

    private static void RefuseRestarted(long load, LoadFacts facts)
    {
        if (facts.RestartedAs is { } restarted)
            throw Refusals.Restarted(load, restarted);
    }

    /// <summary>Of a load that can't go on under its own id.</summary>
    private static void RefuseStopped(long load, LoadFacts facts)
    {
        RefuseRestarted(load, facts);
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

    private static Task<Load?> ReadLoadAsync(SqlServerSession session, long load) => session.FirstAsync(OneLoad, ReadLoad, BigInt("@load", load));

    private static Load ReadLoad(SqlServerRow row) => RowReaders.Load(
        row,
        new SliceCounts(row.Int32(30), row.Int32(31), row.Int32(32), row.Int32(33)),
        row.Int64(34),
        new NotificationCounts(row.Int32(35), row.Int32(36), row.Int32(37)));

    private static SqlParameter Folded(string breach) => Text("@folded", Fold(breach), BreachName.MaxLength);

    private static byte[] VersionOf(BlobVersion blob) => HashOf($"{blob.Name}\n{blob.ETag}");

    private static byte[] HashOf(string text) => SHA256.HashData(Encoding.UTF8.GetBytes(text));

    /// <summary>A load whose checkpoint was moved: how many slices and batches it has with this one, and its mark.</summary>
    private sealed record Advanced(int Slices, int Batches, int Mark);

    /// <summary>One load's batches, over one connection.</summary>
    private sealed class BatchCopy(SqlServerBreachDatabase database, BatchCopyOrder order) : IBatchCopy
    {
        private ServerConnection? _kept;

        public Task<IReadOnlyList<Slice>> CommitAsync(AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible, CancellationToken cancellationToken) =>
            database.CommitBatchAsync(this, order, batch, checkpoint, duplicatesPossible, cancellationToken);

        /// <summary>The connection of the batch before, open; null: there is none.</summary>
        public ServerConnection? Take() => Interlocked.Exchange(ref _kept, null);

        /// <summary>For the next batch.</summary>
        public void Keep(ServerConnection server) => Interlocked.Exchange(ref _kept, server)?.Dispose();

        /// <summary>Gives the connection back to the pool.</summary>
        public ValueTask DisposeAsync()
        {
            Take()?.Dispose();
            return ValueTask.CompletedTask;
        }
    }

    private sealed record LoadFacts(int Breach, LoadState State, long? RestartedAs, bool Purging, bool Superseded, bool Removing);

    /// <summary>A copy ran out of time; its transaction is to begin again.</summary>
    private sealed class CopyTimeoutException(Exception told) : Exception(told.Message)
    {
        public Exception Reported => told;
    }
}
