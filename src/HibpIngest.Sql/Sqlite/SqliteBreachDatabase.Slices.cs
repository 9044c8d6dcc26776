using HibpIngest.Breaches;
using HibpIngest.Ports;
using static HibpIngest.Sql.StoredText;

namespace HibpIngest.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    private const string SliceColumns =
        "SELECT s.load, s.number, s.first, s.last, s.count, s.state, s.attempts, s.error, s.queued_at, s.done_at FROM slices s";

    /// <inheritdoc/>
    public Task<SliceWork?> BeginSliceAsync(long load, int slice, int maxTries, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                if (ReadSlice(connection, load, slice) is not { } found || connection.Number("SELECT purging OR superseded OR removing FROM loads WHERE id = ?1", load) == 1)
                    return null;
                if (found.State is SliceState.Pending or SliceState.Queued && found.Attempts >= maxTries)
                {
                    found = found with { Attempts = maxTries + 1 };
                }
                else if (found.State is SliceState.Pending or SliceState.Queued)
                {
                    connection.Execute("UPDATE slices SET attempts = attempts + 1 WHERE load = ?1 AND number = ?2", load, slice);
                    found = found with { Attempts = found.Attempts + 1 };
                }
                using var row = connection.Prepare("SELECT COALESCE(l.mark, 0), b.name FROM loads l JOIN breaches b ON b.key = l.breach WHERE l.id = ?1", load);
                row.Step();
                return new SliceWork(found, row.Int32(0), row.Text(1));
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task CompleteSliceAsync(long load, int slice, int entities, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                var failed = ReadSlice(connection, load, slice)?.State == SliceState.Failed;
                connection.Execute(
                    "UPDATE slices SET state = 'done', entities = ?3, done_at = ?4, error = NULL WHERE load = ?1 AND number = ?2 AND state <> 'done'", load, slice, entities, Now);
                if (failed)
                {
                    connection.Execute(
                        """
                        UPDATE loads SET state = 'upserting', failed_in = NULL, error = NULL, finished_at = NULL
                        WHERE id = ?1 AND state = 'failed' AND ingest_complete AND superseded_by IS NULL AND NOT removing AND NOT EXISTS (SELECT 1 FROM slices WHERE load = ?1 AND state = 'failed')
                        """,
                        load);
                }
            },
            cancellationToken);

    /// <inheritdoc/>
    public Task ReturnSliceTryAsync(long load, int slice, string error, CancellationToken cancellationToken) =>
        WriteAsync(
            connection => connection.Execute(
                "UPDATE slices SET attempts = MAX(attempts - 1, 0), error = ?3 WHERE load = ?1 AND number = ?2 AND state IN ('pending', 'queued')",
                load, slice, OneLine(error)),
            cancellationToken);

    /// <inheritdoc/>
    public Task FailSliceAsync(long load, int slice, string error, bool exhausted, CancellationToken cancellationToken) =>
        WriteAsync(
            connection =>
            {
                var changed = connection.Execute(
                    "UPDATE slices SET error = ?3, state = CASE WHEN ?4 THEN 'failed' ELSE state END WHERE load = ?1 AND number = ?2 AND state <> 'done'",
                    load, slice, OneLine(error), exhausted);
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
                if (RequireLoad(connection, load).Removing)
                    throw Refusals.Removing(load);
                RefusePurged(connection, load, "requeued");
                if (slice is { } number)
                {
                    RefuseRestarted(connection, load);
                    if (ReadSlice(connection, load, number) is null)
                        throw Refusals.NoSlice(load, number);
                }
                else if (RestartedAs(connection, load) is not null)
                {
                    // Its rows are in the slices of the load it was restarted as.
                    return [];
                }
                // Same state and age for all of them, so that they are found again after the update.
                var numbers = ListNumbers(
                    connection, "SELECT number FROM slices WHERE load = ?1 AND (number = ?2 OR ?2 IS NULL AND (state = 'failed' OR NOT ?3)) ORDER BY number", load, slice, failedOnly);
                foreach (var requeued in numbers)
                {
                    connection.Execute(
                        "UPDATE slices SET state = 'pending', attempts = 0, entities = 0, error = NULL, pending_since = ?3, queued_at = NULL, done_at = NULL WHERE load = ?1 AND number = ?2",
                        load, requeued, Now);
                }
                if (numbers.Count > 0)
                {
                    connection.Execute(
                        """
                        UPDATE loads SET state = CASE WHEN ingest_complete THEN 'upserting' ELSE 'ingesting' END, failed_in = NULL, error = NULL, upserted_at = NULL, finished_at = NULL
                        WHERE id = ?1
                        """,
                        load);
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
                WHERE l.state NOT IN ('done', 'failed') AND s.state = 'queued' AND s.state <> 'done' AND s.queued_at <= ?1
                ORDER BY s.load, s.number LIMIT ?2
                """,
                Now - age, most),
            cancellationToken);

    private static Slice? ReadSlice(DatabaseConnection connection, long load, int number)
    {
        using var row = connection.Prepare($"{SliceColumns} WHERE s.load = ?1 AND s.number = ?2", load, number);
        return row.Step() ? RowReaders.Slice(row) : null;
    }

    private static IReadOnlyList<Slice> ListSlices(DatabaseConnection connection, string sql, params ReadOnlySpan<object?> values)
    {
        using var row = connection.Prepare(sql, values);
        var slices = new List<Slice>();
        while (row.Step())
            slices.Add(RowReaders.Slice(row));
        return slices;
    }
}
