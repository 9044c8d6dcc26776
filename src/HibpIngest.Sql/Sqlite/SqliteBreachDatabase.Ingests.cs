using HibpIngest.Accounts;
using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;
using static HibpIngest.Sql.Parameter;
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

    private protected override string RowsOfLoad => "id > @load << 40 AND id < (@load + 1) << 40";

    private protected override string FirstRow =>
        "COALESCE((SELECT MIN(id) FROM dbo.rows WHERE id > l.id << 40 AND id < (l.id + 1) << 40) - (l.id << 40), l.last_position + 1)";

    /// <inheritdoc/>
    public override Task ReadRowsAsync(long load, long first, long last, AccountBatch into, CancellationToken cancellationToken)
    {
        into.Clear();
        into.FirstPosition = first;
        return ReadAsync(
            session =>
            {
                using var row = ((SqliteSession)session).Prepare(
                    Most("alias, domain FROM dbo.rows WHERE id BETWEEN @first AND @last ORDER BY id"),
                    RowId("@first", load, first), RowId("@last", load, last), BigInt("@most", into.Capacity));
                while (row.Step())
                    into.Add(row.Blob(0), row.Blob(1));
                return Task.FromResult(true);
            },
            cancellationToken);
    }

    /// <inheritdoc/>
    public override Task<int> DeleteRowsUpToAsync(long load, long position, CancellationToken cancellationToken) =>
        WriteAsync(
            async session => await session.AnyAsync("SELECT 1 FROM dbo.loads WHERE id = @load AND removing = 1", OfLoad(load))
                ? await session.ExecuteAsync(
                    "DELETE FROM dbo.rows WHERE id BETWEEN @first AND @last",
                    RowId("@first", load, 0), RowId("@last", load, Math.Min(position, MaxPosition)))
                : 0,
            cancellationToken);

    private protected override IBatchCopy Copy(BatchCopyOrder order) => new BatchCopy(this, order);

    private protected override Task<int> DeleteRowsAsync(ISqlSession session, long load, int most) =>
        session.ExecuteAsync(
            $"DELETE FROM dbo.rows WHERE id IN ({Most($"id FROM dbo.rows WHERE {RowsOfLoad} ORDER BY id")})", OfLoad(load), BigInt("@most", most));

    private Task<IReadOnlyList<Slice>> CommitBatchAsync(
        BatchCopyOrder order, AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible, CancellationToken cancellationToken)
    {
        var load = order.Load;
        if (batch.Count == 0)
            throw new ArgumentException("a batch is never empty", nameof(batch));
        return WriteAsync<IReadOnlyList<Slice>>(
            async session =>
            {
                var changed = await session.ExecuteAsync(
                    """
                    UPDATE dbo.loads SET last_position = @to, accounts = @to, batches = batches + 1, checkpoint_json = @checkpoint, attempts = 0,
                        duplicates_possible = duplicates_possible OR @duplicates, mark = COALESCE(mark, @mark)
                    WHERE id = @load AND last_position = @from AND owner = @owner AND state = 'ingesting'
                    """,
                    OfLoad(load), Owner(order.Owner), BigInt("@from", batch.FirstPosition - 1), BigInt("@to", batch.LastPosition),
                    LongText("@checkpoint", ToText(checkpoint)), Bit("@duplicates", duplicatesPossible), Int("@mark", order.Mark));
                if (changed == 0)
                    throw new LoadLostException(load);
                var mark = await session.NumberAsync("SELECT mark FROM dbo.loads WHERE id = @load", OfLoad(load));
                await RaiseHighestAsync(session, new StoreIds(0, (int)mark!.Value));
                var slices = await InsertSlicesAsync(session, load, batch, order.SliceRows);
                InsertRows((SqliteSession)session, load, batch, cancellationToken);
                // From here on, and not from the transaction's start: the copy may have taken longer than the lease.
                await session.ExecuteAsync(
                    "UPDATE dbo.loads SET lease_expires_at = @until WHERE id = @load", OfLoad(load), FromNow("@until", order.Lease));
                return slices;
            },
            cancellationToken);
    }

    private static Parameter RowId(string name, long load, long position) => BigInt(name, (load << PositionBits) + position);

    private static void InsertRows(SqliteSession session, long load, AccountBatch batch, CancellationToken cancellationToken)
    {
        var first = (load << PositionBits) + batch.FirstPosition;
        using var insert = session.Prepare("INSERT INTO dbo.rows (id, alias, domain) VALUES (@id, @alias, @domain)");
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

    private static async Task<List<Slice>> InsertSlicesAsync(ISqlSession session, long load, AccountBatch batch, int sliceRows)
    {
        var before = await session.NumberAsync("SELECT COALESCE(MAX(number), 0) FROM dbo.slices WHERE load_id = @load", OfLoad(load));
        var slices = Slices(load, batch.FirstPosition, batch.LastPosition, sliceRows, (int)before!.Value);
        foreach (var slice in slices)
        {
            await session.ExecuteAsync(
                """
                INSERT INTO dbo.slices (load_id, number, first_position, last_position, row_count, state, pending_since)
                VALUES (@load, @number, @first, @last, @count, 'pending', @now)
                """,
                OfLoad(load), Int("@number", slice.Number), BigInt("@first", slice.First), BigInt("@last", slice.Last), Int("@count", slice.Count));
        }
        return slices;
    }

    private sealed class BatchCopy(SqliteBreachDatabase database, BatchCopyOrder order) : IBatchCopy
    {
        public Task<IReadOnlyList<Slice>> CommitAsync(
            AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible, CancellationToken cancellationToken) =>
            database.CommitBatchAsync(order, batch, checkpoint, duplicatesPossible, cancellationToken);

        /// <summary>The one writer is the database's.</summary>
        public ValueTask DisposeAsync() => ValueTask.CompletedTask;
    }
}
