namespace HibpIngest.Storage.Sql.Sqlite;

public sealed partial class SqliteBreachDatabase
{
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
