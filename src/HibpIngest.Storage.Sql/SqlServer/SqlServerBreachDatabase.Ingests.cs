using Microsoft.Data.SqlClient;

namespace HibpIngest.Storage.Sql.SqlServer;

public sealed partial class SqlServerBreachDatabase
{
    private const int SlicesPerInsert = 1_000;

    private readonly AccountBatchReader.Domains _domains = new();

    // The load whose copies timed out, and the number of rows per copy since then.
    private (LoadId Load, int Rows)? _pieces;

    private protected override IBatchCopy Copy(BatchCopyOrder order) => new BatchCopy(this, order);

    private async Task<IReadOnlyList<Slice>> CommitBatchAsync(
        BatchCopy copy, BatchCopyOrder order, AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible,
        CancellationToken cancellationToken)
    {
        var load = order.Load;
        if (batch.Count == 0)
            throw new ArgumentException("a batch is never empty", nameof(batch));
        var rows = Math.Min(_pieces is { } pieces && pieces.Load == load ? pieces.Rows : _options.CopyRows, batch.Count);
        while (true)
        {
            try
            {
                return await WriteWithCommitCheckAsync(
                    async (session, inDoubt) => await TryAdvanceAsync(session, order, batch, checkpoint, duplicatesPossible) is { } advanced
                        ? await CopyBatchAsync(session, order, batch, rows, advanced)
                        : (inDoubt ? await FindCommittedAsync(session, load, order.Owner, batch) : null)
                            ?? throw new LoadLostException(load),
                    copy, _connections.CommandTimeout, cancellationToken);
            }
            catch (CopyTimeoutException) when (rows > SqlServerOptions.SmallestCopyRows)
            {
                var smaller = Math.Max((rows + 1) / 2, SqlServerOptions.SmallestCopyRows);
                LogCopiedInPieces(load.Value, rows, smaller);
                rows = smaller;
                _pieces = (load, rows);
            }
            catch (CopyTimeoutException e)
            {
                throw e.Reported;
            }
        }
    }

    // Claims the batch's positions and records its slices in one round trip. Null if the load has another owner, state or position.
    private static Task<Advanced?> TryAdvanceAsync(
        SqlServerSession session, BatchCopyOrder order, AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible)
    {
        var slices = (batch.Count + order.SliceRows - 1) / order.SliceRows;
        return session.FirstPreparedAsync($"""
            UPDATE dbo.loads SET last_position = @to, accounts = @to, batches = batches + 1, slices = slices + @slices,
                checkpoint_json = @checkpoint, attempts = 0, mark = COALESCE(mark, @mark),
                duplicates_possible = CASE WHEN @duplicates = 1 THEN 1 ELSE duplicates_possible END
            WHERE id = @load AND last_position = @from AND owner = @owner AND state = 'ingesting';
            IF @@ROWCOUNT = 1
            BEGIN
                {InsertSlicesSql(Math.Min(slices, SlicesPerInsert))};
                SELECT slices, batches, mark FROM dbo.loads WHERE id = @load;
            END
            """, row => new Advanced(row.Int32("slices"), row.Int32("batches"), row.Int32("mark")),
            OfLoad(order.Load), Owner(order.Owner), BigInt("@from", batch.FirstPosition - 1), BigInt("@to", batch.LastPosition),
            LongText("@checkpoint", ToText(checkpoint)), Bit("@duplicates", duplicatesPossible), Int("@mark", order.Mark),
            Int("@slices", slices), Int("@done", 0), BigInt("@first", batch.FirstPosition), BigInt("@rows", order.SliceRows));
    }

    private async Task<IReadOnlyList<Slice>> CopyBatchAsync(
        SqlServerSession session, BatchCopyOrder order, AccountBatch batch, int rows, Advanced advanced)
    {
        var (load, sliceRows) = (order.Load, order.SliceRows);
        var slices = (batch.Count + sliceRows - 1) / sliceRows;
        for (var done = SlicesPerInsert; done < slices; done += SlicesPerInsert)
        {
            await session.ExecuteAsync(
                InsertSlicesSql(Math.Min(slices - done, SlicesPerInsert)),
                OfLoad(load), Int("@slices", slices), Int("@done", done), BigInt("@first", batch.FirstPosition), BigInt("@rows", sliceRows),
                BigInt("@to", batch.LastPosition));
        }
        CopyRows(session, load, batch, rows);
        // The lease is counted from here, not from the transaction's start: the copy may have taken longer than the lease. Prepared, like
        // the statement before the copy: both run for each batch.
        await session.FirstPreparedAsync(
            "UPDATE dbo.loads SET lease_expires_at = @until WHERE id = @load; SELECT slices FROM dbo.loads WHERE id = @load",
            row => new Advanced(row.Int32("slices"), 0, 0), OfLoad(load), FromNow("@until", order.Lease));
        // The highest mark is raised after the copy: any transaction that inserts an id waits for its row.
        if (advanced.Batches == 1)
            await RaiseHighestAsync(session, new StoreIds(0, advanced.Mark));
        return Slices(load, batch.FirstPosition, batch.LastPosition, sliceRows, advanced.Slices - slices);
    }

    // The text depends only on the number of slices, which rarely changes. The last slice may be shorter.
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

    // Finds the batch's slices if the previous attempt was committed and its response lost. TryAdvanceAsync has waited for any transaction
    // that held the load's row, including that attempt's, so the result can't change any more. Returns null if it was not committed.
    private async Task<IReadOnlyList<Slice>?> FindCommittedAsync(SqlServerSession session, LoadId load, string owner, AccountBatch batch)
    {
        var position = await session.NumberAsync(
            "SELECT last_position FROM dbo.loads WHERE id = @load AND owner = @owner AND state = 'ingesting'", OfLoad(load), Owner(owner));
        if (position != batch.LastPosition)
            return null;
        var slices = await session.ListAsync(
            $"SELECT {SliceColumns} FROM dbo.slices s WHERE s.load_id = @load AND s.first_position >= @first ORDER BY s.number",
            ReadSlice, OfLoad(load), BigInt("@first", batch.FirstPosition));
        if (slices.Count == 0 || slices[0].First != batch.FirstPosition)
            return null;
        LogWasCommitted(load.Value, batch.LastPosition);
        return slices;
    }

    // Copies rows by SqlBulkCopy within the transaction, which commits all of its internal batches or none. Not cancellable, because
    // cancelling would leave the connection in the middle of a copy. CheckConstraints: without it the copy needs ALTER permission on the
    // table. No table lock: on a table with a clustered key it is exclusive, which would block other loads' copies and purges, and saves no
    // log under full recovery, which Azure SQL always has.
    private void CopyRows(SqlServerSession session, LoadId load, AccountBatch batch, int rows)
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
                // WriteToServer, not WriteToServerAsync, which allocated 702 MB per million rows against 160 and was no faster.
                bulk.WriteToServer(reader);
            }
        }
        catch (Exception e) when (
            SqlServerErrors.Classify(e, Stage.Working, broken: false, opened: true, DisplayName) is { Kind: FailureKind.TimedOut } failure)
        {
            throw new CopyTimeoutException(failure.Reported);
        }
    }

    /// <summary>A load after its checkpoint was advanced: its slices and batches including this one, and its mark.</summary>
    private sealed record Advanced(int Slices, int Batches, int Mark);

    private sealed class BatchCopy(SqlServerBreachDatabase database, BatchCopyOrder order) : IBatchCopy
    {
        private ServerConnection? _connection;

        public Task<IReadOnlyList<Slice>> CommitAsync(
            AccountBatch batch, LoadCheckpoint checkpoint, bool duplicatesPossible, CancellationToken cancellationToken) =>
            database.CommitBatchAsync(this, order, batch, checkpoint, duplicatesPossible, cancellationToken);

        /// <summary>Takes the open connection of the previous batch; null if there is none.</summary>
        public ServerConnection? Take() => Interlocked.Exchange(ref _connection, null);

        public void Keep(ServerConnection server) => Interlocked.Exchange(ref _connection, server)?.Dispose();

        public ValueTask DisposeAsync()
        {
            Take()?.Dispose();
            return ValueTask.CompletedTask;
        }
    }

    /// <summary>A copy timed out; its transaction must be restarted.</summary>
    private sealed class CopyTimeoutException(Exception reported) : Exception(reported.Message)
    {
        public Exception Reported => reported;
    }
}
