using Microsoft.Data.SqlClient;

namespace HibpIngest.Storage.Sql.SqlServer;

internal sealed class SqlServerRow(SqlDataReader reader) : IRow
{
    public bool IsNull(int column) => reader.IsDBNull(column);

    public long Int64(int column) => reader.GetInt64(column);

    public long? NumberOrNull(int column) => IsNull(column) ? null : Convert.ToInt64(reader.GetValue(column));

    public int Int32(int column) => reader.GetInt32(column);

    public bool Boolean(int column) => reader.GetBoolean(column);

    public string Text(int column) => reader.GetString(column);

    public byte[] Bytes(int column) => reader.GetSqlBinary(column).Value;

    public Guid Guid(int column) => reader.GetGuid(column);

    public DateTimeOffset Time(int column) => new(reader.GetDateTime(column), TimeSpan.Zero);
}
