using System.Runtime.InteropServices;
using HibpIngest.Passwords.Import;

namespace HibpIngest.Passwords.Appends;

/// <summary>
/// The format in which a transaction's hashes are stored: SHA-1 first, then NTLM, each sorted and distinct, every hash followed by its
/// count (8 bytes, little-endian). Rows have a fixed size, so that a part can be read on its own.
/// </summary>
public static class AppendRows
{
    /// <summary>The maximum number of hashes of one mode.</summary>
    public const int MaxRows = 50_000;

    internal static int RowBytes(HashMode mode) => mode.Bytes() + sizeof(long);

    internal static int Bytes(int sha1Rows, int ntlmRows) => (sha1Rows * RowBytes(HashMode.Sha1)) + (ntlmRows * RowBytes(HashMode.Ntlm));

    /// <summary>Sorts hashes of one mode, and adds up the counts of equal hashes.</summary>
    public static void Sort(List<HashCount> rows)
    {
        var distinct = HashSort.SortAndSum(CollectionsMarshal.AsSpan(rows));
        rows.RemoveRange(distinct, rows.Count - distinct);
    }

    public static byte[] Write(IReadOnlyList<HashCount> sha1, IReadOnlyList<HashCount> ntlm)
    {
        var bytes = new byte[Bytes(sha1.Count, ntlm.Count)];
        var at = 0;
        foreach (var (mode, rows) in new[] { (HashMode.Sha1, sha1), (HashMode.Ntlm, ntlm) })
        {
            foreach (var row in rows)
            {
                row.WriteHash(bytes.AsSpan(at, mode.Bytes()));
                BinaryPrimitives.WriteInt64LittleEndian(bytes.AsSpan(at + mode.Bytes()), row.Count);
                at += RowBytes(mode);
            }
        }
        return bytes;
    }

    public static List<HashCount> Read(HashMode mode, ReadOnlySpan<byte> bytes)
    {
        var size = RowBytes(mode);
        var rows = new List<HashCount>(bytes.Length / size);
        for (var at = 0; at + size <= bytes.Length; at += size)
        {
            var row = new HashCount(bytes.Slice(at, mode.Bytes()), BinaryPrimitives.ReadInt64LittleEndian(bytes[(at + mode.Bytes())..]));
            if (row.Count <= 0 || (rows.Count > 0 && !rows[^1].IsBefore(row)))
                throw InvalidRows();
            rows.Add(row);
        }
        return rows.Count * size == bytes.Length ? rows : throw InvalidRows();
    }

    private static StoreMismatchException InvalidRows() => new("hashes of a transaction can't be read: something else wrote them");
}
