using System.Collections;
using System.Data.Common;

namespace HibpIngest.Storage.Sql.SqlServer;

/// <summary>
/// A batch's accounts as rows of (load, position, alias, domain) for SqlBulkCopy, read directly from the batch's buffer. The driver accepts
/// columns as objects only: a row costs a boxed position and a string for the alias; domains repeat and share theirs.
/// </summary>
internal sealed class AccountBatchReader(LoadId load, AccountBatch batch, AccountBatchReader.Domains domains) : DbDataReader
{
    private static readonly (string Name, Type Type)[] Columns =
        [("load_id", typeof(long)), ("position", typeof(long)), ("alias", typeof(string)), ("domain", typeof(string))];

    private readonly object _load = load.Value;
    private int _row = -1;
    private int _end = batch.Count;

    public override int FieldCount => Columns.Length;

    public override int Depth => 0;
    public override bool HasRows => batch.Count > 0;
    public override bool IsClosed => false;
    public override int RecordsAffected => -1;

    public override object this[int ordinal] => GetValue(ordinal);

    public override object this[string name] => GetValue(GetOrdinal(name));

    public void Take(int first, int count)
    {
        _row = first - 1;
        _end = (int)Math.Min((long)first + count, batch.Count);
    }

    public override bool Read() => ++_row < _end;

    public override bool NextResult() => false;

    public override object GetValue(int ordinal) => ordinal switch
    {
        0 => _load,
        1 => GetInt64(1),
        2 or 3 => GetString(ordinal),
        _ => throw new ArgumentOutOfRangeException(nameof(ordinal)),
    };

    public override long GetInt64(int ordinal) => ordinal switch
    {
        0 => load.Value,
        1 => batch.FirstPosition + _row,
        _ => throw new InvalidCastException($"column {ordinal} is not a number"),
    };

    public override string GetString(int ordinal) => ordinal switch
    {
        2 => Encoding.ASCII.GetString(batch.Alias(_row)),
        3 => domains.Get(batch.Domain(_row)),
        _ => throw new InvalidCastException($"column {ordinal} is not a text"),
    };

    public override bool IsDBNull(int ordinal) => false;

    public override string GetName(int ordinal) => Columns[ordinal].Name;

    public override int GetOrdinal(string name) => Array.FindIndex(Columns, column => column.Name == name) is >= 0 and var ordinal
        ? ordinal
        : throw new ArgumentOutOfRangeException(nameof(name), $"there is no column {name}");

    public override Type GetFieldType(int ordinal) => Columns[ordinal].Type;

    public override string GetDataTypeName(int ordinal) => GetFieldType(ordinal).Name;

    public override int GetValues(object[] values)
    {
        var count = Math.Min(values.Length, FieldCount);
        for (var i = 0; i < count; i++)
            values[i] = GetValue(i);
        return count;
    }

    public override IEnumerator GetEnumerator() => new DbEnumerator(this);

    public override bool GetBoolean(int ordinal) => throw Unused();
    public override byte GetByte(int ordinal) => throw Unused();
    public override long GetBytes(int ordinal, long dataOffset, byte[]? buffer, int bufferOffset, int length) => throw Unused();
    public override char GetChar(int ordinal) => throw Unused();
    public override long GetChars(int ordinal, long dataOffset, char[]? buffer, int bufferOffset, int length) => throw Unused();
    public override DateTime GetDateTime(int ordinal) => throw Unused();
    public override decimal GetDecimal(int ordinal) => throw Unused();
    public override double GetDouble(int ordinal) => throw Unused();
    public override float GetFloat(int ordinal) => throw Unused();
    public override Guid GetGuid(int ordinal) => throw Unused();
    public override short GetInt16(int ordinal) => throw Unused();
    public override int GetInt32(int ordinal) => throw Unused();

    private static NotSupportedException Unused() => new("the columns are bigint and varchar");

    /// <summary>
    /// Strings of recently seen domains, one for each value of a short hash. The table has a fixed size, so it never grows or needs
    /// clearing. Thread-safe: a race costs at most a string.
    /// </summary>
    internal sealed class Domains
    {
        private const int Size = 1 << 12;

        private readonly string?[] _seen = new string?[Size];

        public string Get(ReadOnlySpan<byte> domain)
        {
            var hash = 2166136261u; // FNV-1a
            foreach (var one in domain)
                hash = (hash ^ one) * 16777619u;
            ref var place = ref _seen[(hash ^ (hash >> 16)) & (Size - 1)];
            var seen = place;
            return seen is not null && Ascii.Equals(domain, seen) ? seen : place = Encoding.ASCII.GetString(domain);
        }
    }
}
