namespace HibpIngest.Sql;

/// <summary>
/// A connection that work is done on. A statement that names <c>@now</c> gets the database's clock, in UTC;
/// other parameters are those given with it.
/// </summary>
internal interface ISqlSession
{
    /// <summary>Runs a statement that changes rows (one such statement, where the count is used); returns how many.</summary>
    Task<int> ExecuteAsync(string sql, params Parameter[] parameters);

    Task<List<T>> ListAsync<T>(string sql, Func<IRow, T> read, params Parameter[] parameters);
}

internal static class SqlSessions
{
    /// <summary>The first column of the first row; null where there is no row, or NULL.</summary>
    public static async Task<long?> NumberAsync(this ISqlSession session, string sql, params Parameter[] parameters) =>
        await session.ListAsync(sql, row => row.NumberOrNull(0), parameters) is [var first, ..] ? first : null;

    public static async Task<bool> AnyAsync(this ISqlSession session, string query, params Parameter[] parameters) =>
        await session.NumberAsync($"SELECT 1 WHERE EXISTS ({query})", parameters) is not null;

    /// <summary>The one row of a result; null where there is none.</summary>
    public static async Task<T?> FirstAsync<T>(this ISqlSession session, string sql, Func<IRow, T> read, params Parameter[] parameters)
        where T : class
        => await session.ListAsync(sql, read, parameters) is [var first, ..] ? first : null;
}
