using System.Data;
using Microsoft.Data.SqlClient;

namespace HibpIngest.Sql.SqlServer;

/// <summary>
/// Parameters typed as the columns they meet, so that nothing is converted and every statement has one plan
/// whatever the values' lengths. A value that is too long is an error: the driver would cut it off.
/// </summary>
internal static class Parameter
{
    /// <summary>Longest name of an owner of a lease, a lock or a claim.</summary>
    public const int OwnerLength = 400;

    /// <summary>Longest domain and longest alias of an account (RFC 5321 and 1035).</summary>
    public const int DomainLength = 255;
    public const int AliasLength = 64;

    public static SqlParameter BigInt(string name, long? value) => Create(name, SqlDbType.BigInt, 0, value);

    public static SqlParameter Int(string name, int? value) => Create(name, SqlDbType.Int, 0, value);

    public static SqlParameter Bit(string name, bool value) => Create(name, SqlDbType.Bit, 0, value);

    /// <summary>A duration in whole milliseconds, for DATEADD; at most 24 days.</summary>
    public static SqlParameter Milliseconds(string name, TimeSpan value) => Create(name, SqlDbType.Int, 0, checked((int)value.TotalMilliseconds));

    public static SqlParameter Time(string name, DateTimeOffset value)
    {
        const int Bytes = 7; // to prepare a statement the driver wants it, though the scale decides
        var parameter = Create(name, SqlDbType.DateTime2, Bytes, value.UtcDateTime);
        parameter.Scale = 3;
        return parameter;
    }

    /// <summary>nvarchar.</summary>
    public static SqlParameter Text(string name, string? value, int length) => Create(name, SqlDbType.NVarChar, Fit(name, value?.Length ?? 0, length), value);

    /// <summary>nvarchar(max).</summary>
    public static SqlParameter LongText(string name, string? value) => Create(name, SqlDbType.NVarChar, -1, value);

    /// <summary>varchar, for words of our own.</summary>
    public static SqlParameter VarChar(string name, string? value, int length) => Create(name, SqlDbType.VarChar, Fit(name, value?.Length ?? 0, length), value);

    public static SqlParameter Owner(string value) => Text("@owner", value, OwnerLength);

    public static SqlParameter Hash(string name, byte[] sha256) => Create(name, SqlDbType.Binary, 32, sha256);

    public static SqlParameter LongBytes(string name, byte[]? value) => Create(name, SqlDbType.VarBinary, -1, value);

    public static SqlParameter Guid(string name, Guid value) => Create(name, SqlDbType.UniqueIdentifier, 0, value);

    private static int Fit(string name, int found, int length) =>
        found <= length ? length : throw new ArgumentException($"{name} has {found} characters; it may have {length}", name);

    private static SqlParameter Create(string name, SqlDbType type, int size, object? value) => new(name, type, size) { Value = value ?? DBNull.Value };
}
