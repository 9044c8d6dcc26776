namespace Microsoft.SqlServer.Server;

/// <summary>
/// Marks a user-defined type. Microsoft.Data.SqlClient looks for it on each value it is given; user-defined types are
/// not used here.
/// </summary>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Struct, AllowMultiple = false)]
public sealed class SqlUserDefinedTypeAttribute(Format format) : Attribute
{
    public Format Format { get; } = format;

    public int MaxByteSize { get; set; }

    public bool IsFixedLength { get; set; }

    public bool IsByteOrdered { get; set; }

    public string? ValidationMethodName { get; set; }

    public string? Name { get; set; }
}
