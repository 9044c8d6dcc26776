using System.Text;
using System.Text.Json;

namespace HibpIngest.AzureStorage.Tables;

internal sealed partial class TableTransaction
{
    private static ReadOnlySpan<byte> RemovalHead =>
        "--cs_h\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"u8;

    private static ReadOnlySpan<byte> RemovalHeaders =>
        "') HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\nDataServiceVersion: 3.0\r\nIf-Match: "u8;

    /// <summary>
    /// Writes the transaction that takes a mark off entities of one domain: each is put without it, or deleted
    /// where nothing else is left, as long as it is what was read.
    /// </summary>
    /// <param name="tableAddress">The table's address.</param>
    /// <param name="removals">At most 100, each entity once.</param>
    public static TableTransaction Remove(ReadOnlySpan<byte> tableAddress, ReadOnlySpan<MarkRemoval> removals)
    {
        var transaction = new TableTransaction(removals.Length, "removal of a mark from");
        var body = transaction._bytes;
        body.Append(Head);
        using var json = new Utf8JsonWriter(body);
        foreach (var removal in removals)
        {
            var empties = removal.Empties;
            body.Append(RemovalHead);
            body.Append(empties ? "DELETE "u8 : "PUT "u8);
            body.Append(tableAddress);
            body.Append("(PartitionKey='"u8);
            AppendKey(body, Encoding.ASCII.GetBytes(removal.Domain));
            body.Append("',RowKey='"u8);
            AppendKey(body, Encoding.ASCII.GetBytes(removal.RowKey));
            body.Append(RemovalHeaders);
            body.Append(Encoding.ASCII.GetBytes(removal.ETag));
            if (empties)
            {
                body.Append("\r\n\r\n\r\n"u8);
                continue;
            }

            body.Append("\r\nContent-Type: application/json\r\n\r\n"u8);
            json.Reset();
            json.WriteStartObject();
            removal.WriteRest(json);
            json.WriteEndObject();
            json.Flush();
            body.Append("\r\n"u8);
        }

        body.Append(Tail);
        return transaction;
    }
}
