using System.Data;
using Microsoft.Data.SqlClient;

namespace HibpIngest.Storage.Sql.SqlServer;

/// <summary>
/// An open connection and, for writes, its transaction. A statement that contains <c>@now</c> receives the server's clock, unless the
/// provider was given another one.
/// </summary>
internal sealed class SqlServerSession(
    ServerConnection server, SqlTransaction? transaction, TimeProvider time, TimeSpan timeout, CancellationToken cancellationToken)
    : ISqlSession
{
    private const string Now = "@now";

    // Suffix of a parameter that holds a time's offset from now.
    private const string InMilliseconds = "Milliseconds";

    private const string MillisecondsOfDay = "86400000";

    // A server may be configured not to count rows, and decisions here depend on the counts.
    private const string CountRows = "SET NOCOUNT OFF; ";
    private const string TakeServersClock = $"DECLARE {Now} datetime2(3) = SYSUTCDATETIME(); ";

    public SqlConnection Connection => server.Connection;

    public SqlTransaction? Transaction => transaction;

    public SqlServerSession In(SqlTransaction transaction) => new(server, transaction, time, timeout, cancellationToken);

    public async Task<int> ExecuteAsync(string sql, params Parameter[] parameters)
    {
        using var command = Command(sql, parameters);
        return await command.ExecuteNonQueryAsync(cancellationToken);
    }

    public async Task<List<T>> ListAsync<T>(string sql, Func<IRow, T> read, params Parameter[] parameters)
    {
        using var command = Command(sql, parameters);
        return await ListAsync(command, read);
    }

    /// <summary>The statement stays prepared on the kept connection, which saves sending and parsing the text for each batch.</summary>
    public async Task<T?> FirstPreparedAsync<T>(string sql, Func<IRow, T> read, params Parameter[] parameters)
        where T : class
    {
        if (await ListAsync(Prepared(sql, parameters), read) is [var first, ..])
            return first;
        // The driver keeps the columns of a prepared statement's last run. A run without a result has none, so it is prepared again.
        if (server.Prepared.Remove(sql, out var command))
            command.Dispose();
        return null;
    }

    /// <summary>Reads rows of two varbinary columns, alias and domain, into a batch, without an object per row.</summary>
    public async Task ReadAccountsAsync(AccountBatch into, string sql, params Parameter[] parameters)
    {
        using var command = Command(sql, parameters);
        await using var reader = await command.ExecuteReaderAsync(
            CommandBehavior.SequentialAccess | CommandBehavior.SingleResult, cancellationToken);
        var account = new byte[Parameter.AliasLength + Parameter.DomainLength];
        // Not ReadAsync: it allocates a task for each row that isn't buffered yet, and the rows of a slice are about fifty packets that are
        // on their way already.
        while (reader.Read())
        {
            var alias = (int)reader.GetBytes(0, 0, account, 0, Parameter.AliasLength);
            var domain = (int)reader.GetBytes(1, 0, account, alias, Parameter.DomainLength);
            into.Add(account.AsSpan(0, alias), account.AsSpan(alias, domain));
        }
    }

    public void ThrowIfCancelled() => cancellationToken.ThrowIfCancellationRequested();

    private async Task<List<T>> ListAsync<T>(SqlCommand command, Func<IRow, T> read)
    {
        await using var reader = await command.ExecuteReaderAsync(cancellationToken);
        var row = new Row(reader);
        var list = new List<T>();
        while (await reader.ReadAsync(cancellationToken))
            list.Add(read(row));
        // Read to the end: an error after a row (OUTPUT returns rows before its statement has succeeded, and more statements may follow) is
        // lost if the reader is just closed.
        while (await reader.NextResultAsync(cancellationToken))
        {
        }
        return list;
    }

    private SqlCommand Prepared(string sql, Parameter[] parameters)
    {
        if (!server.Prepared.TryGetValue(sql, out var command))
        {
            command = Command(sql, parameters);
            command.Prepare(); //  sent with its first run: no round trip of its own
            server.Prepared.Add(sql, command);
            return command;
        }
        command.Transaction = transaction;
        foreach (var parameter in Given(sql, parameters))
            command.Parameters[parameter.ParameterName].Value = parameter.Value;
        return command;
    }

    private SqlCommand Command(string sql, Parameter[] parameters)
    {
        var command = Connection.CreateCommand();
        command.Transaction = transaction;
        command.CommandTimeout = (int)timeout.TotalSeconds;
        command.Parameters.AddRange([.. Given(sql, parameters)]);
        var prefix = CountRows;
        if (NamesNow(sql, parameters) && time == TimeProvider.System)
            prefix += TakeServersClock;
        foreach (var parameter in parameters.Where(one => one.Value is TimeSpan))
        {
            // DATEADD is applied in two steps, because it takes an int: 24 days of milliseconds.
            var offset = parameter.Name + InMilliseconds;
            prefix += $"DECLARE {parameter.Name} datetime2(3) = DATEADD(millisecond, {offset} % {MillisecondsOfDay}, "
                + $"DATEADD(day, {offset} / {MillisecondsOfDay}, {Now})); ";
        }
        command.CommandText = prefix + sql;
        return command;
    }

    // Returns the parameters to send; a time relative to now is sent as its offset.
    private IEnumerable<SqlParameter> Given(string sql, Parameter[] parameters)
    {
        foreach (var parameter in parameters)
        {
            var (name, type, size, value) = parameter.Value is TimeSpan fromNow
                ? Parameter.BigInt(parameter.Name + InMilliseconds, (long)fromNow.TotalMilliseconds)
                : parameter;
            yield return new SqlParameter(name, type, size) { Value = value is DateTimeOffset at ? at.UtcDateTime : value ?? DBNull.Value };
        }
        // The driver requires a size to prepare a statement, although the scale is decisive.
        if (NamesNow(sql, parameters) && time != TimeProvider.System)
            yield return new SqlParameter(Now, SqlDbType.DateTime2, 7) { Scale = 3, Value = time.GetUtcNow().UtcDateTime };
    }

    private static bool NamesNow(string sql, Parameter[] parameters) =>
        sql.Contains(Now, StringComparison.Ordinal) || parameters.Any(one => one.Value is TimeSpan);

    private sealed class Row(SqlDataReader reader) : IRow
    {
        public long? FirstNumber => reader.IsDBNull(0) ? null : Convert.ToInt64(reader.GetValue(0));

        public bool IsNull(string column) => reader.IsDBNull(column);
        public long Int64(string column) => reader.GetInt64(column);
        public int Int32(string column) => reader.GetInt32(column);
        public bool Boolean(string column) => reader.GetBoolean(column);
        public string Text(string column) => reader.GetString(column);
        public byte[] Bytes(string column) => reader.GetFieldValue<byte[]>(column);
        public Guid Guid(string column) => reader.GetGuid(column);
        public DateTimeOffset Time(string column) => new(reader.GetDateTime(column), TimeSpan.Zero);
    }
}

/// <summary>A connection and the statements prepared on it, which live as long as it is open.</summary>
internal sealed class ServerConnection(SqlConnection connection) : IDisposable
{
    public SqlConnection Connection => connection;

    public Dictionary<string, SqlCommand> Prepared { get; } = [];

    public void Dispose()
    {
        foreach (var command in Prepared.Values)
            command.Dispose();
        connection.Dispose();
    }
}
