using HibpIngest.Breaches;
using HibpIngest.Stores;
using static HibpIngest.Sql.StoredText;

namespace HibpIngest.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    private const string SliceColumns =
        "SELECT s.load, s.number, s.first, s.last, s.count, s.state, s.attempts, s.error, s.queued_at, s.done_at FROM slices s";

    /// <summary>Of a load <c>l</c>: its slices may be worked on.</summary>
    private const string MayBeWritten = "NOT l.purging AND NOT l.superseded AND l.superseded_by IS NULL AND NOT l.removing";

    /// <inheritdoc/>
    public Task<SliceWork?> BeginSliceAsync(long load, int slice, string owner, TimeSpan lease, int maxTries, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                var now = Now;
                var work = ReadWork(connection, load, slice, owner, now);
                if (work is null || work.Slice.State == SliceState.Done || work.HeldUntil is not null)
                    return work;
                var usedUp = work.Slice.State != SliceState.Failed && work.Slice.Attempts >= maxTries;
                var counts = work.Slice.State != SliceState.Failed && !usedUp;
                connection.Execute(
                    "UPDATE slices SET attempts = attempts + ?3, owner = ?4, lease_expires_at = ?5, active_at = ?6 WHERE load = ?1 AND number = ?2", load, slice, counts, owner, now + lease, now);
                return work with { Slice = work.Slice with { Attempts = usedUp ? maxTries + 1 : work.Slice.Attempts + (counts ? 1 : 0) } };
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> RenewSliceAsync(long load, int slice, string owner, TimeSpan lease, SliceProgress? progress, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                $"""
                UPDATE slices SET lease_expires_at = ?4, active_at = ?5, done_transactions = COALESCE(?6, done_transactions), order_version = COALESCE(?7, order_version)
                WHERE load = ?1 AND number = ?2 AND owner = ?3 AND state <> 'done' AND EXISTS (SELECT 1 FROM loads l WHERE l.id = ?1 AND {MayBeWritten})
                """,
                load, slice, owner, Now + lease, Now, progress?.Done, progress?.OrderVersion) == 1,
            cancellationToken);

    /// <inheritdoc/>
    public Task<bool> CompleteSliceAsync(long load, int slice, string owner, int entities, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                var failed = ReadSlice(connection, load, slice)?.State == SliceState.Failed;
                var changed = connection.Execute(
                    """
                    UPDATE slices SET state = 'done', entities = ?3, done_at = ?4, active_at = ?4, error = NULL, owner = NULL, lease_expires_at = NULL, done_transactions = NULL
                    WHERE load = ?1 AND number = ?2 AND state <> 'done' AND owner = ?5
                    """,
                    load, slice, entities, Now, owner) == 1;
                if (changed && failed)
                {
                    connection.Execute(
                        """
                        UPDATE loads SET state = 'upserting', failed_in = NULL, error = NULL, finished_at = NULL
                        WHERE id = ?1 AND state = 'failed' AND ingest_complete AND superseded_by IS NULL AND NOT removing AND NOT EXISTS (SELECT 1 FROM slices WHERE load = ?1 AND state = 'failed')
                        """,
                        load);
                }
                return changed;
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task ReturnSliceTryAsync(long load, int slice, string owner, SliceProgress? progress, string? error, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                """
                UPDATE slices SET attempts = CASE state WHEN 'failed' THEN attempts ELSE MAX(attempts - 1, 0) END, error = COALESCE(?5, error), owner = NULL, lease_expires_at = NULL, active_at = ?4,
                    done_transactions = COALESCE(?6, done_transactions), order_version = COALESCE(?7, order_version)
                WHERE load = ?1 AND number = ?2 AND state <> 'done' AND owner = ?3
                """,
                load, slice, owner, Now, error is null ? null : OneLine(error), progress?.Done, progress?.OrderVersion),
            cancellationToken);

    /// <inheritdoc/>
    public Task FailSliceAsync(long load, int slice, string owner, string error, bool exhausted, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                var changed = connection.Execute(
                    """
                    UPDATE slices SET error = ?5, state = CASE WHEN ?6 THEN 'failed' ELSE state END, owner = NULL, lease_expires_at = NULL, active_at = ?4
                    WHERE load = ?1 AND number = ?2 AND state <> 'done' AND owner = ?3
                    """,
                    load, slice, owner, Now, OneLine(error), exhausted);
                // The first failed slice is the one that the load names.
                if (changed == 1 && exhausted && connection.Number("SELECT 1 FROM loads WHERE id = ?1 AND state <> 'failed'", load) is not null)
                    Fail(connection, load, $"slice {slice}: {error}");
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task MarkSlicesQueuedAsync(long load, int firstSlice, int lastSlice, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                "UPDATE slices SET state = 'queued', queued_at = ?4 WHERE load = ?1 AND number BETWEEN ?2 AND ?3 AND state IN ('pending', 'queued')",
                load, firstSlice, lastSlice, Now),
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Slice>> RequeueSlicesAsync(long load, int? slice, bool failedOnly, CancellationToken cancellationToken) =>
        WriteAsync<IReadOnlyList<Slice>>(
            connection =>
            {
                var found = RequireLoad(connection, load);
                if (found.Removing)
                    throw Refusals.Removing(load);
                RefusePurged(connection, load, "requeued");
                if (slice is { } number)
                {
                    RefuseStopped(connection, found);
                    if (ReadSlice(connection, load, number) is null)
                        throw Refusals.NoSlice(load, number);
                }
                else if (found.Superseded || RestartedAs(connection, load) is not null)
                {
                    // Its rows are in the slices of the load it was restarted as, or are no longer what its blob holds.
                    return [];
                }
                // Same state and age for all of them, so that they are found again after the update.
                var numbers = ListNumbers(
                    connection, "SELECT number FROM slices WHERE load = ?1 AND (number = ?2 OR ?2 IS NULL AND (state = 'failed' OR NOT ?3)) ORDER BY number", load, slice, failedOnly);
                foreach (var requeued in numbers)
                {
                    connection.Execute(
                        """
                        UPDATE slices SET state = 'pending', attempts = 0, entities = 0, error = NULL, pending_since = ?3, queued_at = NULL, done_at = NULL, owner = NULL, done_transactions = NULL
                        WHERE load = ?1 AND number = ?2
                        """,
                        load, requeued, Now);
                }
                if (numbers.Count > 0)
                {
                    connection.Execute(
                        """
                        UPDATE loads SET state = CASE WHEN ingest_complete THEN 'upserting' ELSE 'ingesting' END, failed_in = NULL, error = NULL,
                            upserted_at = NULL, finished_at = NULL,
                            held_because = CASE WHEN 'held' IN (state, failed_in) THEN COALESCE(held_because, ?2) ELSE held_because END
                        WHERE id = ?1
                        """,
                        load, HeldBeforeRequeue);
                }
                return numbers.ConvertAll(requeued => ReadSlice(connection, load, (int)requeued)!);
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Slice>> ListSlicesAsync(long load, bool failedOnly, CancellationToken cancellationToken) =>
        ReadAsync(
            connection => ListSlices(connection, $"{SliceColumns} WHERE s.load = ?1 AND (s.state = 'failed' OR NOT ?2) ORDER BY s.number", load, failedOnly),
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Slice>> ListPendingSlicesAsync(TimeSpan age, int most, CancellationToken cancellationToken) =>
        ReadAsync(
            connection => ListSlices(
                connection,
                $"""
                {SliceColumns} JOIN loads l ON l.id = s.load
                WHERE l.state <> 'done' AND NOT l.purging AND s.state = 'pending' AND s.state <> 'done' AND s.pending_since <= ?1
                ORDER BY s.load, s.number LIMIT ?2
                """,
                Now - age, most),
            cancellationToken);

    /// <inheritdoc/>
    public Task<IReadOnlyList<Slice>> ListStaleSlicesAsync(TimeSpan age, int most, CancellationToken cancellationToken) =>
        ReadAsync(
            connection => ListSlices(
                connection,
                $"""
                {SliceColumns} JOIN loads l ON l.id = s.load
                WHERE l.state NOT IN ('done', 'failed') AND {MayBeWritten} AND s.state = 'queued' AND s.state <> 'done' AND s.queued_at <= ?1
                    AND NOT EXISTS (SELECT 1 FROM slices a WHERE a.load = l.id AND a.active_at > ?1)
                ORDER BY s.load, s.number LIMIT ?2
                """,
                Now - age, most),
            cancellationToken);

    private static SliceWork? ReadWork(SqliteSession connection, long load, int number, string owner, DateTimeOffset now)
    {
        if (ReadSlice(connection, load, number) is not { } slice)
            return null;
        using var row = connection.Prepare(
            $"""
            SELECT COALESCE(l.mark, 0), b.name, CASE WHEN s.owner <> ?3 AND s.lease_expires_at > ?4 THEN s.lease_expires_at END, s.order_version, s.done_transactions
            FROM slices s JOIN loads l ON l.id = s.load JOIN breaches b ON b.key = l.breach WHERE s.load = ?1 AND s.number = ?2 AND {MayBeWritten}
            """,
            load, number, owner, now);
        if (!row.Step())
            return null;
        return new SliceWork(slice, row.Int32(0), row.Text(1))
        {
            HeldUntil = row.TimeOrNull(2),
            Progress = row.IsNull(4) ? null : new SliceProgress(row.Int32(3), row.Blob(4).ToArray()),
        };
    }

    private static Slice? ReadSlice(SqliteSession connection, long load, int number)
    {
        using var row = connection.Prepare($"{SliceColumns} WHERE s.load = ?1 AND s.number = ?2", load, number);
        return row.Step() ? RowReaders.Slice(row) : null;
    }

    private static IReadOnlyList<Slice> ListSlices(SqliteSession connection, string sql, params ReadOnlySpan<object?> values)
    {
        using var row = connection.Prepare(sql, values);
        var slices = new List<Slice>();
        while (row.Step())
            slices.Add(RowReaders.Slice(row));
        return slices;
    }
}
