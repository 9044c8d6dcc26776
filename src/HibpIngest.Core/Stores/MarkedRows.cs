using System.Text;

namespace HibpIngest.Stores;

/// <summary>Rows of one partition of a table of marks, with all marks that they are to have, as bytes.</summary>
/// <param name="Rows">At most <see cref="IAccountTable.MaxTransactionEntities"/>, each once.</param>
/// <param name="Bytes">Holds their keys; not kept after the call.</param>
/// <param name="Marks">Holds their marks; not kept either.</param>
public readonly record struct MarkedRows(ReadOnlyMemory<RowMarks> Rows, ReadOnlyMemory<byte> Bytes, ReadOnlyMemory<int> Marks)
{
    /// <summary>The same of rows as they were read.</summary>
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

/// <param name="Key">Of the first of the key's rows, in the bytes.</param>
/// <param name="Row">Which of the rows: 0, or n of <c>!n</c>.</param>
/// <param name="Marks">Those it is to have, among the marks: at least one.</param>
public readonly record struct RowMarks(Range Key, int Row, Range Marks);
