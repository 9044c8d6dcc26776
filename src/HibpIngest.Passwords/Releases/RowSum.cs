using System.Buffers.Binary;
using System.Globalization;
using System.IO.Hashing;
using System.Runtime.InteropServices;
using HibpIngest.Errors;

namespace HibpIngest.Passwords;

/// <summary>
/// What a set of rows is known by, in whatever order they come: how many, and the sum, without carry, of XXH3-64 of each row's
/// hash with its count (8 bytes, little-endian) behind it.
/// </summary>
public record struct RowSum(long Rows, ulong Sum)
{
    /// <summary>The sum as documents have it: 16 hex digits.</summary>
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

    /// <param name="rows">Receives its rows, in place of what is in it.</param>
    /// <exception cref="StoreMismatchException">It is none.</exception>
    internal void Add(HashMode mode, int prefix, RangeContent content, List<HashCount> rows)
    {
        rows.Clear();
        RangeText.Read(mode, prefix, content.For(takesGzip: false).Bytes.Span, rows);
        Add(mode, CollectionsMarshal.AsSpan(rows));
    }

    public static RowSum operator +(RowSum one, RowSum other) => new(one.Rows + other.Rows, one.Sum + other.Sum);
}
