namespace HibpIngest.Storage.Sql.SqlServer;

public sealed partial class SqlServerBreachDatabase
{
    private protected override Task<SliceBefore?> UpdateSliceAsync(
        ISqlSession session, string set, string condition, Parameter[] parameters) =>
        session.FirstAsync($"UPDATE dbo.slices SET {set} OUTPUT deleted.state, deleted.attempts WHERE {condition}", ReadBefore, parameters);

    private protected override string Changed(string update, string columns, string where) =>
        $"{update} OUTPUT {columns.Replace("s.", "inserted.", StringComparison.Ordinal)} {where}";
}
