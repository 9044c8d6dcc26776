using SQLitePCL;

namespace HibpIngest.Storage.Sql.Sqlite;

/// <summary>
/// A prepared statement that its connection caches. As in SQLite, parameters count from 1 and columns from 0; loops over account rows
/// use these numbers instead of names. Disposing resets it for the next use. Spans of columns are valid until the next step.
/// </summary>
internal sealed class SqliteStatement(SqliteSession connection, sqlite3_stmt statement) : IRow, IDisposable
{
    private readonly string[] _names =
        [
            .. Enumerable.Range(1, raw.sqlite3_bind_parameter_count(statement))
                .Select(i => raw.sqlite3_bind_parameter_name(statement, i).utf8_to_string()),
        ];

    private Dictionary<string, int>? _ordinals;

    public void Bind(ReadOnlySpan<Parameter> parameters, DateTimeOffset now)
    {
        for (var i = 0; i < _names.Length; i++)
            Bind(i + 1, ValueOf(_names[i], parameters, now));
    }

    public void Bind(int parameter, long value) => connection.Check(raw.sqlite3_bind_int64(statement, parameter, value));

    public void Bind(int parameter, ReadOnlySpan<byte> blob) => connection.Check(raw.sqlite3_bind_blob(statement, parameter, blob));

    public void Bind(int parameter, object? value)
    {
        switch (value)
        {
            case null:
                connection.Check(raw.sqlite3_bind_null(statement, parameter));
                break;
            case long number:
                Bind(parameter, number);
                break;
            case int number:
                Bind(parameter, (long)number);
                break;
            case bool truth:
                Bind(parameter, truth ? 1L : 0L);
                break;
            case string text:
                connection.Check(raw.sqlite3_bind_text(statement, parameter, text));
                break;
            case byte[] blob:
                Bind(parameter, blob.AsSpan());
                break;
            case Guid id:
                Bind(parameter, id.ToString("D"));
                break;
            case DateTimeOffset time:
                Bind(parameter, time.ToUnixTimeMilliseconds());
                break;
            default:
                throw new ArgumentException(
                    $"expected long, int, bool, string, byte[], Guid or DateTimeOffset, found {value.GetType().Name}", nameof(value));
        }
    }

    public bool Step()
    {
        var code = raw.sqlite3_step(statement);
        if (code is not (raw.SQLITE_ROW or raw.SQLITE_DONE))
            connection.Check(code);
        return code == raw.SQLITE_ROW;
    }

    /// <summary>Runs a statement without results once, and resets it.</summary>
    public void Run()
    {
        var code = raw.sqlite3_step(statement);
        raw.sqlite3_reset(statement);
        if (code != raw.SQLITE_DONE)
            connection.Check(code);
    }

    public bool IsNull(int column) => raw.sqlite3_column_type(statement, column) == raw.SQLITE_NULL;

    public long Int64(int column) => raw.sqlite3_column_int64(statement, column);

    public ReadOnlySpan<byte> Blob(int column) => raw.sqlite3_column_blob(statement, column);

    long? IRow.FirstNumber => IsNull(0) ? null : Int64(0);

    public bool IsNull(string column) => IsNull(Ordinal(column));
    public long Int64(string column) => Int64(Ordinal(column));
    public int Int32(string column) => checked((int)Int64(column));
    public bool Boolean(string column) => Int64(column) != 0;
    public string Text(string column) => Encoding.UTF8.GetString(Blob(Ordinal(column)));
    public byte[] Bytes(string column) => Blob(Ordinal(column)).ToArray();
    public Guid Guid(string column) => System.Guid.Parse(Text(column));
    public DateTimeOffset Time(string column) => DateTimeOffset.FromUnixTimeMilliseconds(Int64(column));

    public void Dispose() => raw.sqlite3_reset(statement);

    /// <summary>Frees the statement; called by the connection that caches it.</summary>
    public void Close() => raw.sqlite3_finalize(statement);

    private int Ordinal(string column)
    {
        _ordinals ??= Enumerable.Range(0, raw.sqlite3_column_count(statement))
            .ToDictionary(i => raw.sqlite3_column_name(statement, i).utf8_to_string());
        return _ordinals[column];
    }

    private static object? ValueOf(string name, ReadOnlySpan<Parameter> parameters, DateTimeOffset now)
    {
        foreach (var parameter in parameters)
        {
            if (parameter.Name == name)
                return parameter.Value is TimeSpan fromNow ? now + fromNow : parameter.Value;
        }
        return name == "@now" ? now : throw new ArgumentException($"parameter {name} has no value", nameof(parameters));
    }
}
