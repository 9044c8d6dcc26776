using HibpIngest.Breaches;
using HibpIngest.Ports;
using static HibpIngest.Sql.SqlServer.Parameter;
using static HibpIngest.Sql.StoredText;

namespace HibpIngest.Sql.SqlServer;

public sealed partial class SqlServerBreachDatabase
{
    private const string SliceColumns = "s.load_id, s.number, s.first_position, s.last_position, s.row_count, s.state, s.attempts, s.error, s.queued_at, s.done_at";

    /// <inheritdoc/>
    public Task<SliceWork?> BeginSliceAsync(long load, int slice, int maxTries, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                var began = await session.ExecuteAsync(
                    """
                    UPDATE dbo.slices SET attempts = attempts + 1
                    WHERE load_id = @load AND number = @slice AND state IN ('pending', 'queued') AND attempts < @most
                        AND EXISTS (SELECT 1 FROM dbo.loads WHERE id = @load AND purging = 0 AND superseded = 0 AND removing = 0)
                    """,
                    BigInt("@load", load), Int("@slice", slice), Int("@most", maxTries)) == 1;
                var work = await session.FirstAsync(
                    $"""
                    SELECT {SliceColumns}, COALESCE(l.mark, 0), b.name
                    FROM dbo.slices s JOIN dbo.loads l ON l.id = s.load_id JOIN dbo.breaches b ON b.breach_key = l.breach
                    WHERE s.load_id = @load AND s.number = @slice AND l.purging = 0 AND l.superseded = 0 AND l.removing = 0
                    """,
                    row => new SliceWork(RowReaders.Slice(row), row.Int32(10), row.Text(11)),
                    BigInt("@load", load), Int("@slice", slice));
                return work is { Slice.State: SliceState.Pending or SliceState.Queued } && !began ? work with { Slice = work.Slice with { Attempts = maxTries + 1 } } : work;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task CompleteSliceAsync(long load, int slice, int entities, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                var before = await session.FirstAsync(
                    """
                    UPDATE dbo.slices SET state = 'done', entities = @entities, done_at = @now, error = NULL
                    OUTPUT deleted.state
                    WHERE load_id = @load AND number = @slice AND state <> 'done'
                    """,
                    row => row.Text(0),
                    BigInt("@load", load), Int("@slice", slice), Int("@entities", entities));
                // Of two last failed slices that end together the second sees, once it has the load's row, what the first has done.
                if (before is null || ToSliceState(before) != SliceState.Failed || !await LockLoadRowAsync(session, load))
                    return;
                await session.ExecuteAsync(
                    """
                    UPDATE dbo.loads SET state = 'upserting', failed_in = NULL, error = NULL, finished_at = NULL
                    WHERE id = @load AND state = 'failed' AND ingest_complete = 1 AND superseded_by IS NULL AND removing = 0
                        AND NOT EXISTS (SELECT 1 FROM dbo.slices WHERE load_id = @load AND state = 'failed')
                    """,
                    BigInt("@load", load));
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task ReturnSliceTryAsync(long load, int slice, string error, CancellationToken cancellationToken) =>
        WriteAsync(
            session => session.ExecuteAsync(
                """
                UPDATE dbo.slices SET attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END, error = @error
                WHERE load_id = @load AND number = @slice AND state IN ('pending', 'queued')
                """,
                BigInt("@load", load), Int("@slice", slice), LongText("@error", OneLine(error))),
            cancellationToken);

    /// <inheritdoc/>
    public Task FailSliceAsync(long load, int slice, string error, bool exhausted, CancellationToken cancellationToken) =>
        WriteAsync(
            async session =>
            {
                var changed = await session.ExecuteAsync(
                    "UPDATE dbo.slices SET error = @error, state = CASE WHEN @exhausted = 1 THEN 'failed' ELSE state END WHERE load_id = @load AND number = @slice AND state <> 'done'",
                    BigInt("@load", load), Int("@slice", slice), LongText("@error", OneLine(error)), Bit("@exhausted", exhausted));
                // The first failed slice is the one that the load names.
                if (changed == 1 && exhausted)
                    await FailAsync(session, load, $"slice {slice}: {error}", onlyFirst: true);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task MarkSlicesQueuedAsync(long load, int firstSlice, int lastSlice, CancellationToken cancellationToken) =>
        WriteAsync(
            session => session.ExecuteAsync(
                """
                UPDATE dbo.slices SET state = 'queued', queued_at = @now
                WHERE load_id = @load AND number BETWEEN @first AND @last AND state IN ('pending', 'queued')
                """,
                BigInt("@load", load), Int("@first", firstSlice), Int("@last", lastSlice)),
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Slice>> RequeueSlicesAsync(long load, int? slice, bool failedOnly, CancellationToken cancellationToken) =>
        WriteAsync<IReadOnlyList<Slice>>(
            async session =>
            {
                var facts = await LockLoadAsync(session, load);
                if (facts.Removing)
                    throw Refusals.Removing(load);
                RefusePurged(load, facts, "requeued");
                if (slice is not null)
                    RefuseRestarted(load, facts);
                else if (facts.RestartedAs is not null)
                    return []; // its rows are in the slices of the load it was restarted as
                var requeued = await session.ListAsync(
                    $"""
                    UPDATE dbo.slices SET state = 'pending', attempts = 0, entities = 0, error = NULL, pending_since = @now, queued_at = NULL, done_at = NULL
                    OUTPUT {SliceColumns.Replace("s.", "inserted.", StringComparison.Ordinal)}
                    WHERE load_id = @load AND (number = @slice OR @slice IS NULL AND (state = 'failed' OR @failedOnly = 0))
                    """,
                    RowReaders.Slice, BigInt("@load", load), Int("@slice", slice), Bit("@failedOnly", failedOnly));
                if (slice is { } number && requeued.Count == 0)
                    throw Refusals.NoSlice(load, number);
                if (requeued.Count > 0)
                {
                    await session.ExecuteAsync(
                        """
                        UPDATE dbo.loads SET state = CASE WHEN ingest_complete = 1 THEN 'upserting' ELSE 'ingesting' END, failed_in = NULL, error = NULL, upserted_at = NULL, finished_at = NULL
                        WHERE id = @load
                        """,
                        BigInt("@load", load));
                }
                return [.. requeued.OrderBy(one => one.Number)];
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Slice>> ListSlicesAsync(long load, bool failedOnly, CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<Slice>>(
            async session => await session.ListAsync(
                $"SELECT {SliceColumns} FROM dbo.slices s WHERE s.load_id = @load {(failedOnly ? "AND s.state = 'failed'" : "")} ORDER BY s.number",
                RowReaders.Slice, BigInt("@load", load)),
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Slice>> ListPendingSlicesAsync(TimeSpan age, int most, CancellationToken cancellationToken) =>
        ListOldSlicesAsync("l.state <> 'done' AND l.purging = 0 AND s.state = 'pending'", "s.pending_since", age, most, cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Slice>> ListStaleSlicesAsync(TimeSpan age, int most, CancellationToken cancellationToken) =>
        ListOldSlicesAsync("l.state NOT IN ('done', 'failed') AND s.state = 'queued'", "s.queued_at", age, most, cancellationToken);

    private Task<IReadOnlyList<Slice>> ListOldSlicesAsync(string condition, string since, TimeSpan age, int most, CancellationToken cancellationToken) =>
        ReadAsync<IReadOnlyList<Slice>>(
            async session => await session.ListAsync(
                $"""
                SELECT TOP (@most) {SliceColumns} FROM dbo.slices s JOIN dbo.loads l ON l.id = s.load_id
                WHERE {condition} AND s.state <> 'done' AND {since} <= DATEADD(millisecond, -@age, @now)
                ORDER BY s.load_id, s.number
                """,
                RowReaders.Slice, Milliseconds("@age", age), BigInt("@most", most)),
            cancellationToken);
}
