namespace HibpIngest.Stores;

/// <summary>Rows of one partition of an account or range table, with all marks to set, as bytes.</summary>
/// <param name="Rows">At most <see cref="IAccountTable.MaxTransactionEntities"/>, each once.</param>
/// <param name="Bytes">Holds the keys; not kept after the call.</param>
/// <param name="Marks">Holds the marks; not kept after the call.</param>
public readonly record struct MarkedRows(ReadOnlyMemory<RowMarks> Rows, ReadOnlyMemory<byte> Bytes, ReadOnlyMemory<int> Marks)
{
    public static MarkedRows Of(IReadOnlyList<MarkedRow> rows)
    {
        var keys = new RowMarks[rows.Count];
        var (bytes, marks) = (new List<byte>(), new List<int>());
        for (var i = 0; i < rows.Count; i++)
        {
            var (key, mark) = (bytes.Count, marks.Count);
            bytes.AddRange(Encoding.ASCII.GetBytes(rows[i].Key));
            marks.AddRange(rows[i].Marks);
            keys[i] = new RowMarks(key..bytes.Count, rows[i].Row, mark..marks.Count);
        }
        return new MarkedRows(keys, bytes.ToArray(), marks.ToArray());
    }
}

/// <param name="Key">Range of the row key without <c>!n</c>, in the bytes.</param>
/// <param name="Row">0, or n of <c>!n</c>.</param>
/// <param name="Marks">Range of the marks to set: at least one.</param>
public readonly record struct RowMarks(Range Key, int Row, Range Marks);
