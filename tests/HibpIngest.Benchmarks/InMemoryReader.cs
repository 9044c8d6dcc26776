using System.Collections;
using System.Data.Common;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Serves rows (load, position, alias, domain) from memory without decoding, so that a benchmark measures SqlBulkCopy
/// alone.
/// </summary>
internal sealed class InMemoryReader(string[] columns, List<(string Alias, string Domain)> accounts) : DbDataReader
{
    // Boxed once, not per row.
    private object _load = 0L;
    private int _row = -1;

    public void Restart(long load) => (_load, _row) = (load, -1);

    public override bool Read() => ++_row < accounts.Count;

    public override object GetValue(int ordinal) => ordinal switch
    {
        0 => _load,
        1 => _row + 1L,
        2 => accounts[_row].Alias,
        _ => accounts[_row].Domain,
    };

    public override int FieldCount => columns.Length;

    public override string GetName(int ordinal) => columns[ordinal];

    public override int GetOrdinal(string name) => Array.IndexOf(columns, name);

    public override Type GetFieldType(int ordinal) => ordinal < 2 ? typeof(long) : typeof(string);

    public override string GetDataTypeName(int ordinal) => GetFieldType(ordinal).Name;

    public override bool IsDBNull(int ordinal) => false;

    public override long GetInt64(int ordinal) => (long)GetValue(ordinal);

    public override string GetString(int ordinal) => (string)GetValue(ordinal);

    public override bool HasRows => accounts.Count > 0;

    public override bool IsClosed => false;

    public override int Depth => 0;

    public override int RecordsAffected => -1;

    public override bool NextResult() => false;

    public override object this[int ordinal] => GetValue(ordinal);

    public override object this[string name] => GetValue(GetOrdinal(name));

    // SqlBulkCopy calls none of these.
    public override IEnumerator GetEnumerator() => throw new NotSupportedException();
    public override int GetValues(object[] values) => throw new NotSupportedException();
    public override bool GetBoolean(int ordinal) => throw new NotSupportedException();
    public override byte GetByte(int ordinal) => throw new NotSupportedException();
    public override long GetBytes(int ordinal, long dataOffset, byte[]? buffer, int bufferOffset, int length) =>
        throw new NotSupportedException();
    public override char GetChar(int ordinal) => throw new NotSupportedException();
    public override long GetChars(int ordinal, long dataOffset, char[]? buffer, int bufferOffset, int length) =>
        throw new NotSupportedException();
    public override DateTime GetDateTime(int ordinal) => throw new NotSupportedException();
    public override decimal GetDecimal(int ordinal) => throw new NotSupportedException();
    public override double GetDouble(int ordinal) => throw new NotSupportedException();
    public override float GetFloat(int ordinal) => throw new NotSupportedException();
    public override Guid GetGuid(int ordinal) => throw new NotSupportedException();
    public override short GetInt16(int ordinal) => throw new NotSupportedException();
    public override int GetInt32(int ordinal) => throw new NotSupportedException();
}
