using System.Data;

namespace HibpIngest.Storage.Sql;

/// <summary>
/// A value for a statement, typed as the column it is compared with, so that SQL Server converts nothing and uses one plan for values of
/// any length. A text that is too long for its column is an error: the driver would truncate it. SQLite uses the value alone, and ignores
/// parameters that a statement does not contain.
/// </summary>
internal readonly record struct Parameter(string Name, SqlDbType Type, int Size, object? Value)
{
    public const int OwnerLength = 400;

    /// <summary>The maximum lengths of an account's domain and alias (RFC 5321 and 1035).</summary>
    public const int DomainLength = 255;
    public const int AliasLength = 64;

    public const int EmailLength = 320;
    public const int StateLength = 10;

    private const int BlobLength = 1024;
    private const int ETagLength = 256;

    public static Parameter BigInt(string name, long? value) => new(name, SqlDbType.BigInt, 0, value);

    public static Parameter Int(string name, int? value) => new(name, SqlDbType.Int, 0, value);

    public static Parameter Bit(string name, bool value) => new(name, SqlDbType.Bit, 0, value);

    public static Parameter Id(string name, Guid value) => new(name, SqlDbType.UniqueIdentifier, 0, value);

    /// <summary>A duration in whole milliseconds, for DATEADD; at most 24 days.</summary>
    public static Parameter Milliseconds(string name, TimeSpan value) => Int(name, checked((int)value.TotalMilliseconds));

    /// <summary>The database's present time plus an offset, which may be negative.</summary>
    public static Parameter FromNow(string name, TimeSpan value) => new(name, SqlDbType.DateTime2, 0, value);

    /// <summary>A recorded time, in whole milliseconds.</summary>
    public static Parameter At(string name, DateTimeOffset? value) => new(name, SqlDbType.DateTime2, 0, value);

    public static Parameter Text(string name, string? value, int length) =>
        new(name, SqlDbType.NVarChar, Fit(name, value, length), value);

    public static Parameter LongText(string name, string? value) => new(name, SqlDbType.NVarChar, -1, value);

    /// <summary>varchar, for the program's own words.</summary>
    public static Parameter VarChar(string name, string? value, int length) =>
        new(name, SqlDbType.VarChar, Fit(name, value, length), value);

    public static Parameter LongBytes(string name, byte[]? value) => new(name, SqlDbType.VarBinary, -1, value);

    public static Parameter Load(string name, LoadId? value) => BigInt(name, value?.Value);

    public static Parameter OfLoad(LoadId load) => Load("@load", load);

    public static Parameter Folded(string breach) => Text("@folded", StoredText.Fold(breach), BreachName.MaxLength);

    public static Parameter Owner(string value) => Text("@owner", value, OwnerLength);

    public static Parameter State(LoadState state) => VarChar("@state", StoredText.ToText(state), StateLength);

    public static Parameter Line(string name, string? value) => LongText(name, value is null ? null : StoredText.OneLine(value));

    public static Parameter[] Identity(StoreIdentity identity) =>
    [
        Id("@id", identity.Id),
        Int("@spread", identity.PartitionSpread),
        Int("@accounts", identity.StorageAccounts),
    ];

    /// <summary>Name and ETag of a blob, and the SHA-256 of both, which together exceed the size of SQL Server's keys.</summary>
    public static Parameter[] Version(BlobVersion blob) =>
    [
        Text("@blob", blob.Name, BlobLength),
        Text("@etag", blob.ETag, ETagLength),
        new("@blob_version", SqlDbType.Binary, 32, SHA256.HashData(Encoding.UTF8.GetBytes($"{blob.Name}\n{blob.ETag}"))),
    ];

    private static int Fit(string name, string? value, int length) =>
        value is null || value.Length <= length
            ? length
            : throw new ArgumentException($"{name} has {value.Length} characters; it may have {length}", name);
}
