namespace HibpIngest.Storage.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    private const int RowsBetweenChecks = 1_024;

    private protected override IBatchCopy Copy(BatchCopyOrder order) => new BatchCopy(this, order);

    private static void InsertRows(SqliteSession session, LoadId load, AccountBatch batch, CancellationToken cancellationToken)
    {
        var first = RowId(load, batch.FirstPosition);
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

    private static async Task<List<Slice>> InsertSlicesAsync(ISqlSession session, LoadId load, AccountBatch batch, int sliceRows)
    {
        var before = await session.NumberAsync("SELECT COALESCE(MAX(number), 0) FROM dbo.slices WHERE load_id = @load", OfLoad(load));
        var slices = Slices(load, batch.FirstPosition, batch.LastPosition, sliceRows, (int)before!.Value);
        foreach (var slice in slices)
        {
            await session.ExecuteAsync("""
                INSERT INTO dbo.slices (load_id, number, first_position, last_position, row_count, state, pending_since)
                VALUES (@load, @number, @first, @last, @count, 'pending', @now)
                """, OfLoad(load), Int("@number", slice.Number), BigInt("@first", slice.First), BigInt("@last", slice.Last),
                Int("@count", slice.Count));
        }
        return slices;
    }

    private sealed class BatchCopy(SqliteBreachDatabase database, BatchCopyOrder order) : IBatchCopy
    {
        public Task<IReadOnlyList<Slice>> CommitAsync(
            AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible, CancellationToken cancellationToken)
        {
            var load = order.Load;
            if (batch.Count == 0)
                throw new ArgumentException("a batch is never empty", nameof(batch));
            return database.WriteAsync<IReadOnlyList<Slice>>(async session =>
            {
                var changed = await session.ExecuteAsync("""
                    UPDATE dbo.loads SET last_position = @to, accounts = @to, batches = batches + 1,
                        checkpoint_json = @checkpoint, attempts = 0, mark = COALESCE(mark, @mark),
                        duplicates_possible = CASE WHEN @duplicates = 1 THEN 1 ELSE duplicates_possible END
                    WHERE id = @load AND last_position = @from AND owner = @owner AND state = 'ingesting'
                    """, OfLoad(load), Owner(order.Owner), BigInt("@from", batch.FirstPosition - 1), BigInt("@to", batch.LastPosition),
                    LongText("@checkpoint", ToText(checkpoint)), Bit("@duplicates", duplicatesPossible), Int("@mark", order.Mark));
                if (changed == 0)
                    throw new LoadLostException(load);
                var mark = await session.NumberAsync("SELECT mark FROM dbo.loads WHERE id = @load", OfLoad(load));
                // Before the rows, unlike on SQL Server: SQLite has one writer at a time, which nothing delays.
                await RaiseHighestAsync(session, new StoreIds(Load: 0, Mark: (int)mark!.Value));
                var slices = await InsertSlicesAsync(session, load, batch, order.SliceRows);
                InsertRows((SqliteSession)session, load, batch, cancellationToken);
                // The lease is counted from here, not from the transaction's start: the copy may have taken longer than the lease.
                await session.ExecuteAsync(
                    "UPDATE dbo.loads SET lease_expires_at = @until WHERE id = @load", OfLoad(load), FromNow("@until", order.Lease));
                return slices;
            }, cancellationToken);
        }

        /// <summary>Does nothing: the writer belongs to the database.</summary>
        public ValueTask DisposeAsync() => ValueTask.CompletedTask;
    }
}
