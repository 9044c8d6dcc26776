namespace HibpIngest.Storage.Sql.SqlServer;

public sealed partial class SqlServerBreachDatabase
{
    private const string DeleteRange = "DELETE FROM dbo.rows WHERE load_id = @load AND position > @after AND position <= @upTo";

    private protected override string RowsOfLoad => "load_id = @load";

    private protected override string WithoutRows =>
        ", slices = @slices, purged_position = CASE WHEN @gone = 1 THEN @rows ELSE purged_position END";

    private protected override string FirstRow => "l.purged_position + 1";

    public override Task ReadRowsAsync(LoadId load, long first, long last, AccountBatch into, CancellationToken cancellationToken) =>
        ReadAsync(async session =>
        {
            into.Clear();
            into.FirstPosition = first;
            await ((SqlServerSession)session).ReadAccountsAsync(
                into,
                """
                SELECT TOP (@limit) CAST(alias AS varbinary(64)), CAST(domain AS varbinary(255)) FROM dbo.rows
                WHERE load_id = @load AND position >= @first AND position <= @last ORDER BY position
                """,
                BigInt("@limit", into.Capacity), OfLoad(load), BigInt("@first", first), BigInt("@last", last));
            return true;
        }, cancellationToken);

    public override Task<int> DeleteRowsUpToAsync(LoadId load, long position, CancellationToken cancellationToken) =>
        WriteAsync(async session =>
        {
            // Starts at the first remaining row: otherwise each call would scan the deleted ones before it.
            const string Left = "SELECT purged_position FROM dbo.loads WHERE id = @load AND removing = 1 AND purged_position < @upTo";
            var upTo = BigInt("@upTo", position);
            if (!await LockLoadRowAsync(session, load) || await session.NumberAsync(Left, OfLoad(load), upTo) is not { } after)
                return 0;
            await session.ExecuteAsync("UPDATE dbo.loads SET purged_position = @upTo WHERE id = @load", OfLoad(load), upTo);
            return await session.ExecuteAsync(DeleteRange, OfLoad(load), BigInt("@after", after), upTo);
        }, cancellationToken, isLong: true);

    /// <summary>A range with explicit bounds is read once, however many rows before it are deleted.</summary>
    private protected override async Task<int> DeleteRowsAsync(ISqlSession session, LoadId load, int limit)
    {
        const string Left = "SELECT purged_position FROM dbo.loads WHERE id = @load AND purged_position < last_position";
        while (await session.NumberAsync(Left, OfLoad(load)) is { } after)
        {
            var upTo = BigInt("@upTo", after + limit);
            var removed = await session.ExecuteAsync(DeleteRange, OfLoad(load), BigInt("@after", after), upTo);
            await session.ExecuteAsync("""
                UPDATE dbo.loads SET purged_position = CASE WHEN last_position < @upTo THEN last_position ELSE @upTo END WHERE id = @load
                """, OfLoad(load), upTo);
            if (removed > 0)
                return removed;
        }
        return 0;
    }

    private protected override Task<SliceBefore?> UpdateSliceAsync(
        ISqlSession session, string set, string condition, Parameter[] parameters) =>
        session.FirstAsync($"UPDATE dbo.slices SET {set} OUTPUT deleted.state, deleted.attempts WHERE {condition}", ReadBefore, parameters);

    private protected override string Changed(string update, string columns, string where) =>
        $"{update} OUTPUT {columns.Replace("s.", "inserted.", StringComparison.Ordinal)} {where}";
}
