using System.Buffers.Binary;
using System.Runtime.Intrinsics;

namespace HibpIngest.AccountLog;

/// <summary>
/// One block of LZ4 (github.com/lz4/lz4, doc/lz4_Block_format.md), without a frame: no package of the feed has it. Both ways on
/// spans alone: a length that lies is found before anything is read or written by it.
/// </summary>
internal static class Lz4Block
{
    /// <summary>Entries of the encoder's table: 64 KiB of it stay in a core's cache.</summary>
    public const int TableEntries = 1 << TableBits;

    private const int TableBits = 14;
    private const int LeastMatch = 4;
    private const int MostDistance = ushort.MaxValue;

    /// <summary>The format's: the last match begins so many bytes before the end at least,</summary>
    private const int LastMatchBytes = 12;

    /// <summary>and the last bytes are literals.</summary>
    private const int LastLiterals = 5;

    /// <summary>The most bytes of a match that its nibble says alone,</summary>
    private const int ShortMatch = LeastMatch + NibbleFull - 1;

    /// <summary>what such a sequence takes at most, if 16 literals are copied where there are fewer,</summary>
    private const int ShortSource = 16 + sizeof(ushort);

    /// <summary>and makes;</summary>
    private const int ShortDestination = 16 + ShortMatch;

    /// <summary>and the least distance over which eight bytes can be copied at once.</summary>
    private const int ShortDistance = sizeof(ulong);

    /// <summary>What a nibble can't say, more bytes do.</summary>
    private const int NibbleFull = 15;

    /// <summary>
    /// Compresses, looking at every byte (not skipping as the original does where it finds nothing: that makes sorted addresses 9%
    /// longer). The same bytes for the same input, always.
    /// </summary>
    /// <param name="source">What is to be compressed.</param>
    /// <param name="destination">Where to.</param>
    /// <param name="table"><see cref="TableEntries"/> numbers; cleared first.</param>
    /// <returns>Bytes written; 0: there is no room for them.</returns>
    public static int Compress(ReadOnlySpan<byte> source, Span<byte> destination, Span<int> table)
    {
        table = table[..TableEntries];
        table.Clear();
        var (at, anchor, written) = (0, 0, 0);
        var lastStart = source.Length - LastMatchBytes;
        while (at <= lastStart)
        {
            var sequence = BinaryPrimitives.ReadUInt32LittleEndian(source[at..]);
            ref var slot = ref table[Hash(sequence)];
            var candidate = slot - 1;
            slot = at + 1;
            if (candidate < 0 || at - candidate > MostDistance
                || BinaryPrimitives.ReadUInt32LittleEndian(source[candidate..]) != sequence)
            {
                at++;
                continue;
            }
            var start = at;
            while (start > anchor && candidate > 0 && source[start - 1] == source[candidate - 1])
                (start, candidate) = (start - 1, candidate - 1);
            var rest = source[(start + LeastMatch)..^LastLiterals];
            var length = LeastMatch + rest.CommonPrefixLength(source[(candidate + LeastMatch)..]);
            if (!TryWriteSequence(source[anchor..start], start - candidate, length, destination, ref written))
                return 0;
            anchor = start + length;
            // Two of those that the match passes over, as the original does: the others would cost more than they find.
            if (anchor <= lastStart)
                table[Hash(BinaryPrimitives.ReadUInt32LittleEndian(source[(anchor - 2)..]))] = anchor - 1;
            at = anchor;
        }
        return TryWriteLiterals(source[anchor..], 0, destination, ref written) ? written : 0;
    }

    /// <summary>Decompresses a block that makes exactly as many bytes as there is room for.</summary>
    /// <returns>False: it is no such block. What is in <paramref name="destination"/> then means nothing.</returns>
    public static bool TryDecompress(ReadOnlySpan<byte> source, Span<byte> destination)
    {
        var (at, written) = (0, 0);
        while (at < source.Length)
        {
            var token = source[at++];
            var literals = token >> 4;
            // Most sequences are short: fixed numbers of bytes are copied faster than it can be asked how many they are.
            if (literals < NibbleFull && (token & NibbleFull) < NibbleFull && source.Length - at >= ShortSource
                && destination.Length - written >= ShortDestination)
            {
                var from = source.Slice(at, ShortSource);
                Vector128.Create(from).CopyTo(destination.Slice(written, Vector128<byte>.Count));
                var back = BinaryPrimitives.ReadUInt16LittleEndian(from.Slice(literals, sizeof(ushort)));
                var matched = LeastMatch + (token & NibbleFull);
                at += literals + sizeof(ushort);
                written += literals;
                if (back < ShortDistance)
                {
                    if (back == 0 || back > written)
                        return false;
                    CopyMatch(destination, written, back, matched);
                }
                else
                {
                    if (back > written)
                        return false;
                    // One behind the other: what the first writes the second may read.
                    var to = destination.Slice(written - back, back + ShortMatch);
                    BinaryPrimitives.WriteUInt64LittleEndian(to[back..], BinaryPrimitives.ReadUInt64LittleEndian(to));
                    BinaryPrimitives.WriteUInt64LittleEndian(to[(back + 8)..], BinaryPrimitives.ReadUInt64LittleEndian(to[8..]));
                    BinaryPrimitives.WriteUInt16LittleEndian(to[(back + 16)..], BinaryPrimitives.ReadUInt16LittleEndian(to[16..]));
                }
                written += matched;
                continue;
            }
            if (literals == NibbleFull && !TryAddLength(source, ref at, destination.Length, ref literals))
                return false;
            if (literals > source.Length - at || literals > destination.Length - written)
                return false;
            // Most are short: a copy of 16 bytes costs less than asking how many they are.
            if (literals <= Vector128<byte>.Count && source.Length - at >= Vector128<byte>.Count
                && destination.Length - written >= Vector128<byte>.Count)
                Vector128.Create(source[at..]).CopyTo(destination[written..]);
            else
                source.Slice(at, literals).CopyTo(destination[written..]);
            at += literals;
            written += literals;
            if (at == source.Length)
                return written == destination.Length;

            if (source.Length - at < sizeof(ushort))
                return false;
            var distance = (int)BinaryPrimitives.ReadUInt16LittleEndian(source[at..]);
            at += sizeof(ushort);
            var length = token & NibbleFull;
            if (length == NibbleFull && !TryAddLength(source, ref at, destination.Length, ref length))
                return false;
            length += LeastMatch;
            if (distance == 0 || distance > written || length > destination.Length - written)
                return false;
            CopyMatch(destination, written, distance, length);
            written += length;
        }
        return false;
    }

    private static int Hash(uint sequence) => (int)(sequence * 2654435761U >> (32 - TableBits));

    private static bool TryWriteSequence(
        ReadOnlySpan<byte> literals, int distance, int length, Span<byte> destination, ref int written)
    {
        var more = length - LeastMatch;
        if (!TryWriteLiterals(literals, Math.Min(more, NibbleFull), destination, ref written)
            || destination.Length - written < sizeof(ushort))
            return false;
        BinaryPrimitives.WriteUInt16LittleEndian(destination[written..], (ushort)distance);
        written += sizeof(ushort);
        return more < NibbleFull || TryWriteLength(more - NibbleFull, destination, ref written);
    }

    private static bool TryWriteLiterals(ReadOnlySpan<byte> literals, int matchNibble, Span<byte> destination, ref int written)
    {
        if (written >= destination.Length)
            return false;
        destination[written++] = (byte)((Math.Min(literals.Length, NibbleFull) << 4) | matchNibble);
        if (literals.Length >= NibbleFull && !TryWriteLength(literals.Length - NibbleFull, destination, ref written))
            return false;
        if (!literals.TryCopyTo(destination[written..]))
            return false;
        written += literals.Length;
        return true;
    }

    private static bool TryWriteLength(int length, Span<byte> destination, ref int written)
    {
        if (destination.Length - written <= length / byte.MaxValue)
            return false;
        for (; length >= byte.MaxValue; length -= byte.MaxValue)
            destination[written++] = byte.MaxValue;
        destination[written++] = (byte)length;
        return true;
    }

    private static bool TryAddLength(ReadOnlySpan<byte> source, ref int at, int most, ref int length)
    {
        while (at < source.Length && length <= most)
        {
            var more = source[at++];
            length += more;
            if (more != byte.MaxValue)
                return true;
        }
        return false;
    }

    private static void CopyMatch(Span<byte> destination, int at, int distance, int length)
    {
        var from = at - distance;
        if (distance >= Vector128<byte>.Count && length <= 2 * Vector128<byte>.Count
            && destination.Length - at >= 2 * Vector128<byte>.Count)
        {
            // In this order: the second may begin with what the first has written.
            Vector128.Create<byte>(destination[from..]).CopyTo(destination[at..]);
            if (length > Vector128<byte>.Count)
                Vector128.Create<byte>(destination[(from + Vector128<byte>.Count)..]).CopyTo(destination[(at + Vector128<byte>.Count)..]);
        }
        else if (distance >= length)
            destination.Slice(from, length).CopyTo(destination[at..]);
        else
            // What is copied grows while it is copied: a distance of 1 repeats one byte.
            for (var end = at + length; at < end; at++, from++)
                destination[at] = destination[from];
    }
}
