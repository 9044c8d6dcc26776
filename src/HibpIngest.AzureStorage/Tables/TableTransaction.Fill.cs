using System.Globalization;
using System.Text;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage.Tables;

internal sealed partial class TableTransaction
{
    /// <summary>Writes the transaction that gives rows of one partition all their marks.</summary>
    /// <param name="tableAddress">The table's address.</param>
    /// <param name="partition">The partition's key.</param>
    /// <param name="rows">At most 100, each row once.</param>
    public static TableTransaction Merge(ReadOnlySpan<byte> tableAddress, ReadOnlySpan<byte> partition, IReadOnlyList<MarkedRow> rows)
    {
        var transaction = new TableTransaction(rows.Count, "filling of");
        var body = transaction._bytes;
        body.Append(Head);
        foreach (var row in rows)
        {
            body.Append(PartHead);
            body.Append(tableAddress);
            body.Append("(PartitionKey='"u8);
            AppendKey(body, partition);
            body.Append("',RowKey='"u8);
            AppendKey(body, Encoding.ASCII.GetBytes(row.Key));
            AppendRowSuffix(body, row.Row);
            body.Append(PartTail);
            for (var i = 0; i < row.Marks.Count; i++)
            {
                body.Append(i == 0 ? "{\"b"u8 : ",\"b"u8);
                row.Marks[i].TryFormat(body.GetSpan(12), out var written, default, CultureInfo.InvariantCulture);
                body.Advance(written);
                body.Append("\":true"u8);
            }
            body.Append("}\r\n"u8);
        }
        body.Append(Tail);
        return transaction;
    }
}
