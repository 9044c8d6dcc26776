namespace HibpIngest.Storage.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
    // A row's id has its load in the upper 23 bits and its position in the lower 40: 10^12 rows, eight million loads.
    private const int PositionBits = 40;
    private const long MaxPosition = (1L << PositionBits) - 1;

    private protected override string RowsOfLoad => "id > @load << 40 AND id < (@load + 1) << 40";

    private protected override string WithoutRows => "";

    private protected override string FirstRow =>
        "COALESCE((SELECT MIN(id) FROM dbo.rows WHERE id > l.id << 40 AND id < (l.id + 1) << 40) - (l.id << 40), l.last_position + 1)";

    public override Task ReadRowsAsync(LoadId load, long first, long last, AccountBatch into, CancellationToken cancellationToken)
    {
        into.Clear();
        into.FirstPosition = first;
        return ReadAsync(
            session =>
            {
                using var row = ((SqliteSession)session).Prepare(
                    Limit("alias, domain FROM dbo.rows WHERE id BETWEEN @first AND @last ORDER BY id"),
                    BigInt("@first", RowId(load, first)), BigInt("@last", RowId(load, last)), BigInt("@limit", into.Capacity));
                while (row.Step())
                    into.Add(row.Blob(0), row.Blob(1));
                return Task.FromResult(true);
            },
            cancellationToken);
    }

    public override Task<int> DeleteRowsUpToAsync(LoadId load, long position, CancellationToken cancellationToken) => WriteAsync(
        async session => await session.AnyAsync("SELECT 1 FROM dbo.loads WHERE id = @load AND removing = 1", OfLoad(load))
            ? await session.ExecuteAsync(
                "DELETE FROM dbo.rows WHERE id BETWEEN @first AND @last",
                BigInt("@first", RowId(load, 0)), BigInt("@last", RowId(load, Math.Min(position, MaxPosition))))
            : 0,
        cancellationToken);

    private protected override Task<int> DeleteRowsAsync(ISqlSession session, LoadId load, int limit) => session.ExecuteAsync(
        $"DELETE FROM dbo.rows WHERE id IN ({Limit($"id FROM dbo.rows WHERE {RowsOfLoad} ORDER BY id")})",
        OfLoad(load), BigInt("@limit", limit));

    private static long RowId(LoadId load, long position) => (load.Value << PositionBits) + position;

    private protected override async Task<SliceBefore?> UpdateSliceAsync(
        ISqlSession session, string set, string condition, Parameter[] parameters)
    {
        // There is one writer, so the row can't change between the two statements.
        var before = await session.FirstAsync($"SELECT state, attempts FROM dbo.slices WHERE {condition}", ReadBefore, parameters);
        if (before is not null)
            await session.ExecuteAsync($"UPDATE dbo.slices SET {set} WHERE {condition}", parameters);
        return before;
    }

    private protected override string Changed(string update, string columns, string where) =>
        $"{update} {where} RETURNING {columns.Replace("s.", "", StringComparison.Ordinal)}";
}
