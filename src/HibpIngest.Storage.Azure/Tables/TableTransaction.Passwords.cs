using System.Text;

namespace HibpIngest.Storage.Azure.Tables;

internal sealed partial class TableTransaction
{
    /// <summary>Writes the transaction that sets the counts of hashes of one prefix.</summary>
    /// <param name="rows">At most 100, each suffix once.</param>
    public static TableTransaction Passwords(ReadOnlySpan<byte> tableAddress, ReadOnlySpan<byte> partition, IReadOnlyList<PasswordRow> rows)
    {
        var transaction = new TableTransaction(rows.Count, "writing of", "password");
        var body = transaction._bytes;
        body.Append(Head);
        foreach (var row in rows)
        {
            body.Append(PartHead);
            body.Append(tableAddress);
            body.Append("(PartitionKey='"u8);
            body.Append(partition);
            body.Append("',RowKey='"u8);
            body.Append(Encoding.ASCII.GetBytes(row.Suffix));
            body.Append(PartTail);
            // OData sends 64-bit integers as text with a type annotation.
            body.Append("{\"count@odata.type\":\"Edm.Int64\",\"count\":\""u8);
            row.Count.TryFormat(body.GetSpan(20), out var written, default, System.Globalization.CultureInfo.InvariantCulture);
            body.Advance(written);
            body.Append("\"}\r\n"u8);
        }
        body.Append(Tail);
        return transaction;
    }
}
