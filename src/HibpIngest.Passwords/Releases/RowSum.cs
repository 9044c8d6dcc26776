using System.IO.Hashing;
using System.Runtime.InteropServices;

namespace HibpIngest.Passwords.Releases;

/// <summary>The rows' number, and the sum modulo 2^64 of XXH3-64 of each row's hash and count (8 bytes, little-endian).</summary>
internal record struct RowSum(long Rows, ulong Sum)
{
    /// <summary>The sum as in documents: 16 hex digits.</summary>
    public readonly string Text => Sum.ToString("x16", CultureInfo.InvariantCulture);

    public void Add(HashMode mode, ReadOnlySpan<HashCount> rows)
    {
        Span<byte> row = stackalloc byte[mode.Bytes() + sizeof(long)];
        foreach (ref readonly var one in rows)
        {
            one.WriteHash(row[..mode.Bytes()]);
            BinaryPrimitives.WriteInt64LittleEndian(row[mode.Bytes()..], one.Count);
            Sum += XxHash3.HashToUInt64(row);
        }
        Rows += rows.Length;
    }

    public void Add(HashMode mode, int prefix, RangeContent content, List<HashCount> rows)
    {
        rows.Clear();
        RangeText.Read(mode, prefix, content.For(acceptsGzip: false).Bytes.Span, rows);
        Add(mode, CollectionsMarshal.AsSpan(rows));
    }

    public static RowSum operator +(RowSum one, RowSum other) => new(one.Rows + other.Rows, one.Sum + other.Sum);
}
