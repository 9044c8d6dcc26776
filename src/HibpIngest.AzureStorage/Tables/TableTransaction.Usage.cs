using System.Text;
using System.Text.Json;
using HibpIngest.Stores;

namespace HibpIngest.AzureStorage.Tables;

internal sealed partial class TableTransaction
{
    private static ReadOnlySpan<byte> ReplacementHead =>
        "--cs_h\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPUT "u8;

    /// <summary>Writes the transaction that puts counts of requests in place of those that are there (InsertOrReplace).</summary>
    /// <param name="tableAddress">The table's address.</param>
    /// <param name="partition">The hour.</param>
    /// <param name="rows">At most 100, each with its key, which are all different.</param>
    public static TableTransaction Usage(
        ReadOnlySpan<byte> tableAddress, ReadOnlySpan<byte> partition, IReadOnlyList<(string RowKey, UsageRow Row)> rows)
    {
        var transaction = new TableTransaction(rows.Count, "writing of", "count of requests", "counts of requests");
        var body = transaction._bytes;
        body.Append(Head);
        using var json = new Utf8JsonWriter(body);
        foreach (var (rowKey, row) in rows)
        {
            body.Append(ReplacementHead);
            body.Append(tableAddress);
            body.Append("(PartitionKey='"u8);
            body.Append(partition);
            body.Append("',RowKey='"u8);
            AppendKey(body, Encoding.ASCII.GetBytes(rowKey));
            body.Append(PartTail);
            json.Reset();
            json.WriteStartObject();
            UsageTable.Write(json, row);
            json.WriteEndObject();
            json.Flush();
            body.Append("\r\n"u8);
        }
        body.Append(Tail);
        return transaction;
    }
}
