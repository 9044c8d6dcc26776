namespace HibpIngest.Storage.Sql;

/// <summary>
/// An open connection. A statement that contains <c>@now</c> receives the database's clock in UTC; other parameters are passed with it.
/// </summary>
internal interface ISqlSession
{
    /// <summary>Runs a statement and returns the number of rows it changed (defined for a single such statement).</summary>
    Task<int> ExecuteAsync(string sql, params Parameter[] parameters);

    Task<List<T>> ListAsync<T>(string sql, Func<IRow, T> read, params Parameter[] parameters);
}

/// <summary>A row of a result. Columns are read by name, so that no reader depends on the order of a SELECT list.</summary>
internal interface IRow
{
    /// <summary>The first column, a whole number of any type.</summary>
    long? FirstNumber { get; }

    bool IsNull(string column);
    long Int64(string column);
    int Int32(string column);
    bool Boolean(string column);
    string Text(string column);
    byte[] Bytes(string column);
    Guid Guid(string column);
    DateTimeOffset Time(string column);
    LoadId Load(string column) => new(Int64(column));
    LoadId? LoadOrNull(string column) => IsNull(column) ? null : Load(column);
    long? Int64OrNull(string column) => IsNull(column) ? null : Int64(column);
    int? Int32OrNull(string column) => IsNull(column) ? null : Int32(column);
    string? TextOrNull(string column) => IsNull(column) ? null : Text(column);
    DateTimeOffset? TimeOrNull(string column) => IsNull(column) ? null : Time(column);
}

internal static class SqlSessions
{
    /// <summary>Returns the first column of the first row; null if there is no row, or it is NULL.</summary>
    public static async Task<long?> NumberAsync(this ISqlSession session, string sql, params Parameter[] parameters) =>
        await session.ListAsync(sql, row => row.FirstNumber, parameters) is [var first, ..] ? first : null;

    public static async Task<LoadId?> LoadAsync(this ISqlSession session, string sql, params Parameter[] parameters) =>
        await session.NumberAsync(sql, parameters) is { } id ? new LoadId(id) : null;

    public static async Task<bool> AnyAsync(this ISqlSession session, string query, params Parameter[] parameters) =>
        await session.NumberAsync($"SELECT 1 WHERE EXISTS ({query})", parameters) is not null;

    public static async Task<T?> FirstAsync<T>(this ISqlSession session, string sql, Func<IRow, T> read, params Parameter[] parameters)
        where T : class?
        => await session.ListAsync(sql, read, parameters) is [var first, ..] ? first : null;
}
