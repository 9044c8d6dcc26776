namespace HibpIngest.Sql;

/// <summary>A row of a result; columns count from 0.</summary>
internal interface IRow
{
    bool IsNull(int column);

    long Int64(int column);

    int Int32(int column);

    bool Boolean(int column);

    string Text(int column);

    string? TextOrNull(int column);

    DateTimeOffset Time(int column);

    DateTimeOffset? TimeOrNull(int column);
}
