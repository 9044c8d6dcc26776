using System.Buffers;

namespace HibpIngest.Storage.Azure.Tables;

/// <summary>
/// The body of an entity group transaction of InsertOrMerge
/// (learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions), written straight from the accounts' bytes. The
/// parts differ only in the row key: the bytes before and after it are written once and copied within the buffer.
/// </summary>
internal sealed class TableTransaction : IDisposable
{
    public const string ContentType = "multipart/mixed; boundary=batch_h";

    // The shortest valid boundaries: the emulator requires the prefix batch_, and both allow letters, digits and underscores.
    private static ReadOnlySpan<byte> Head => "--batch_h\r\nContent-Type: multipart/mixed; boundary=cs_h\r\n\r\n"u8;

    private static ReadOnlySpan<byte> PartHead =>
        "--cs_h\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPATCH "u8;

    /// <summary>End of the head of a part. Without Accept, the service would report errors in XML.</summary>
    private static ReadOnlySpan<byte> PartTail =>
        "') HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\nContent-Type: application/json\r\nDataServiceVersion: 3.0\r\n\r\n"u8;

    private static ReadOnlySpan<byte> Tail => "--cs_h--\r\n--batch_h--\r\n"u8;

    private static readonly SearchValues<byte> Plain = SearchValues.Create(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"u8);

    private readonly PooledBytes _bytes = new(32 * 1024);

    private readonly string _what;
    private readonly string _noun;

    private TableTransaction(int count, string what = "upsert of", string noun = "account") => (Count, _what, _noun) = (count, what, noun);

    public int Count { get; }

    public ReadOnlyMemory<byte> Body => _bytes.Written;

    public string Operation => Describe(null);

    public static TableTransaction Upsert(
        ReadOnlySpan<byte> tableAddress, ReadOnlySpan<byte> domain, ReadOnlySpan<Range> aliases, ReadOnlySpan<byte> bytes, int mark)
    {
        var transaction = new TableTransaction(aliases.Length);
        var body = transaction._bytes;
        body.Append(Head);
        var head = AppendPartHead(body, tableAddress, domain);
        Range tail = default;
        for (var i = 0; i < aliases.Length; i++)
        {
            if (i > 0)
                body.AppendOwn(head);
            AppendKey(body, bytes[aliases[i]]);
            if (i > 0)
            {
                body.AppendOwn(tail);
                continue;
            }
            var tailStart = body.Length;
            AppendRowSuffix(body, (mark - 1) / IAccountTable.MarksPerRow);
            body.Append(PartTail);
            AppendProperties(body, [mark]);
            body.Append("\r\n"u8);
            tail = tailStart..body.Length;
        }
        body.Append(Tail);
        return transaction;
    }

    /// <param name="rows">At most 100 of one partition, each row once, with all its marks.</param>
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
                head = AppendPartHead(body, tableAddress, partition);
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

    /// <param name="rows">At most 100 of one prefix, each suffix once.</param>
    public static TableTransaction Passwords(ReadOnlySpan<byte> tableAddress, ReadOnlySpan<byte> partition, IReadOnlyList<PasswordRow> rows)
    {
        var transaction = new TableTransaction(rows.Count, "writing of", "password");
        var body = transaction._bytes;
        body.Append(Head);
        foreach (var row in rows)
        {
            AppendPartHead(body, tableAddress, partition);
            body.Append(Encoding.ASCII.GetBytes(row.Suffix));
            body.Append(PartTail);
            // OData sends 64-bit integers as text with a type annotation.
            body.Append("{\"count@odata.type\":\"Edm.Int64\",\"count\":\""u8);
            row.Count.TryFormat(body.GetSpan(20), out var written, default, CultureInfo.InvariantCulture);
            body.Advance(written);
            body.Append("\"}\r\n"u8);
        }
        body.Append(Tail);
        return transaction;
    }

    public string Describe(int? index) =>
        string.Create(
            CultureInfo.InvariantCulture,
            $"{_what} {Count} {_noun}{(Count == 1 ? "" : "s")}{(index is null ? "" : $" (number {index + 1} of them)")}");

    public void Abandon() => _bytes.Abandon();

    public void Dispose() => _bytes.Dispose();

    private static Range AppendPartHead(PooledBytes body, ReadOnlySpan<byte> tableAddress, ReadOnlySpan<byte> partition)
    {
        var start = body.Length;
        body.Append(PartHead);
        body.Append(tableAddress);
        body.Append("(PartitionKey='"u8);
        AppendKey(body, partition);
        body.Append("',RowKey='"u8);
        return start..body.Length;
    }

    private static void AppendKey(PooledBytes body, ReadOnlySpan<byte> key)
    {
        if (!key.ContainsAnyExcept(Plain))
        {
            body.Append(key);
            return;
        }
        Span<byte> hex = stackalloc byte[3];
        hex[0] = (byte)'%';
        foreach (var character in key)
        {
            if (Plain.Contains(character))
            {
                body.Append([character]);
                continue;
            }
            Convert.TryToHexString([character], hex[1..], out _);
            body.Append(hex);
        }
    }

    /// <summary>Writes no suffix for row 0 (marks 1-250), !1 for the next (251-500), and so on.</summary>
    private static void AppendRowSuffix(PooledBytes body, int row)
    {
        if (row > 0)
            body.Append(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"%21{row}")));
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
