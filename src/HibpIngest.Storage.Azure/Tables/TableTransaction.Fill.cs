using System.Globalization;

namespace HibpIngest.Storage.Azure.Tables;

internal sealed partial class TableTransaction
{
    /// <summary>Writes the transaction that gives rows of one partition all their marks.</summary>
    /// <param name="rows">At most 100, each row once.</param>
    public static TableTransaction Merge(ReadOnlySpan<byte> tableAddress, ReadOnlySpan<byte> partition, MarkedRows rows)
    {
        var transaction = new TableTransaction(rows.Rows.Length, "filling of");
        var body = transaction._bytes;
        body.Append(Head);
        var bytes = rows.Bytes.Span;
        var marks = rows.Marks.Span;
        Range head = default, tail = default;
        ReadOnlySpan<int> tailMarks = [];
        var tailRow = -1;
        foreach (var row in rows.Rows.Span)
        {
            if (head.Equals(default))
            {
                var start = body.Length;
                body.Append(PartHead);
                body.Append(tableAddress);
                body.Append("(PartitionKey='"u8);
                AppendKey(body, partition);
                body.Append("',RowKey='"u8);
                head = start..body.Length;
            }
            else
                body.AppendOwn(head);
            AppendKey(body, bytes[row.Key]);
            // Most rows have the same marks as the previous one.
            if (row.Row == tailRow && marks[row.Marks].SequenceEqual(tailMarks))
            {
                body.AppendOwn(tail);
                continue;
            }
            var tailStart = body.Length;
            AppendRowSuffix(body, row.Row);
            body.Append(PartTail);
            AppendProperties(body, marks[row.Marks]);
            body.Append("\r\n"u8);
            (tail, tailRow) = (tailStart..body.Length, row.Row);
            tailMarks = marks[row.Marks];
        }
        body.Append(Tail);
        return transaction;
    }

    private static void AppendProperties(PooledBytes body, ReadOnlySpan<int> marks)
    {
        for (var i = 0; i < marks.Length; i++)
        {
            body.Append(i == 0 ? "{\"b"u8 : ",\"b"u8);
            marks[i].TryFormat(body.GetSpan(12), out var written, default, CultureInfo.InvariantCulture);
            body.Advance(written);
            body.Append("\":true"u8);
        }
        body.Append("}"u8);
    }
}
