namespace HibpIngest.Storage.Sql;

/// <summary>A row of a result; columns count from 0.</summary>
internal interface IRow
{
    bool IsNull(int column);

    long Int64(int column);

    int Int32(int column);

    bool Boolean(int column);

    string Text(int column);

    byte[] Bytes(int column);

    Guid Guid(int column);

    DateTimeOffset Time(int column);

    /// <summary>Returns a whole number of any type.</summary>
    long? NumberOrNull(int column);

    string? TextOrNull(int column) => IsNull(column) ? null : Text(column);

    DateTimeOffset? TimeOrNull(int column) => IsNull(column) ? null : Time(column);
}
