using System.IO.Compression;
using System.IO.Hashing;
using System.Runtime.InteropServices;

namespace HibpIngest.Passwords.Ranges;

/// <summary>Gzip members that reach a byte boundary before their last, empty block, so that rows can be appended as they are.</summary>
internal static class RangeGzip
{
    // Hex digits of hashes never repeat, so searching for matches is futile: Huffman only makes 41.8 KB in 0.3 ms for 1,973 rows, level 6
    // makes 42.0 KB in 3.4 ms and level 1 66 KB in 1.7 ms.
    private static readonly ZLibCompressionOptions Options = new() { CompressionStrategy = ZLibCompressionStrategy.HuffmanOnly };

    private const int TrailerBytes = 8;

    // A stored block takes at most 65,535 bytes: header byte, length, its complement, bytes.
    private const int StoredHeaderBytes = 5;

    // No range is longer: those of 2,000 million hashes have 80 KB each.
    private const int MaxTextBytes = 1 << 30;

    // The maximum of DEFLATE (zlib.net/zlib_tech.html: 1,032 to 1), so that a damaged length allocates no more memory.
    private const int MaxExpansion = 1_032;

    // Fixed codes, empty.
    private static ReadOnlySpan<byte> LastBlock => [0x03, 0x00];

    // The empty stored block by which a flush reaches a byte boundary.
    private static ReadOnlySpan<byte> Flushed => [0x00, 0x00, 0xFF, 0xFF];

    public static byte[] Compress(ReadOnlySpan<byte> text)
    {
        using var memory = new MemoryStream((text.Length / 2) + 1_024);
        using (var gzip = new GZipStream(memory, Options, leaveOpen: true))
        {
            gzip.Write(text);
            gzip.Flush();
        }
        return memory.ToArray();
    }

    public static int LengthOf(ReadOnlySpan<byte> gzip)
    {
        if (gzip.Length < TrailerBytes || BinaryPrimitives.ReadUInt32LittleEndian(gzip[^4..]) is var length
            && (length > MaxTextBytes || length > (long)gzip.Length * MaxExpansion))
            throw InvalidGzip();
        return (int)length;
    }

    /// <exception cref="StoreMismatchException">The bytes are not gzip, or damaged.</exception>
    public static byte[] Decompress(ReadOnlyMemory<byte> gzip)
    {
        var text = new byte[LengthOf(gzip.Span)];
        try
        {
            using var stream = new GZipStream(Read(gzip), CompressionMode.Decompress);
            stream.ReadExactly(text);
            if (stream.ReadByte() >= 0)
                throw InvalidGzip();
        }
        catch (Exception e) when (e is InvalidDataException or EndOfStreamException)
        {
            throw InvalidGzip();
        }
        // GZipStream doesn't check the CRC.
        if (Crc32.HashToUInt32(text) != BinaryPrimitives.ReadUInt32LittleEndian(gzip.Span[^TrailerBytes..]))
            throw InvalidGzip();
        return text;
    }

    /// <summary>Appends rows to a range without compressing them.</summary>
    /// <returns>Null if the gzip was not made by <see cref="Compress"/>, or the rows have more than 65,535 bytes.</returns>
    public static byte[]? Append(ReadOnlySpan<byte> gzip, ReadOnlySpan<byte> more)
    {
        if (more.Length > ushort.MaxValue || gzip.Length < TrailerBytes + LastBlock.Length + Flushed.Length
            || !gzip[..^TrailerBytes].EndsWith(LastBlock) || !gzip[..^(TrailerBytes + LastBlock.Length)].EndsWith(Flushed))
            return null;
        var prefixBytes = gzip.Length - TrailerBytes - LastBlock.Length;
        var padded = new byte[prefixBytes + StoredHeaderBytes + more.Length + TrailerBytes];
        gzip[..prefixBytes].CopyTo(padded);
        var block = padded.AsSpan(prefixBytes);
        block[0] = 0x01; // the last block, stored
        BinaryPrimitives.WriteUInt16LittleEndian(block[1..], (ushort)more.Length);
        BinaryPrimitives.WriteUInt16LittleEndian(block[3..], (ushort)~more.Length);
        more.CopyTo(block[StoredHeaderBytes..]);
        var trailer = block[(StoredHeaderBytes + more.Length)..];
        var before = BinaryPrimitives.ReadUInt32LittleEndian(gzip[^TrailerBytes..]);
        BinaryPrimitives.WriteUInt32LittleEndian(trailer, ContinueCrc32(before, more));
        BinaryPrimitives.WriteUInt32LittleEndian(trailer[4..], (uint)(LengthOf(gzip) + more.Length));
        return padded;
    }

    private static readonly uint[] CrcTable = [.. Enumerable.Range(0, 256).Select(one =>
    {
        var value = (uint)one;
        for (var bit = 0; bit < 8; bit++)
            value = (value & 1) == 0 ? value >> 1 : (value >> 1) ^ 0xEDB88320;
        return value;
    })];

    /// <summary>Continues a CRC-32 (RFC 1952) with more bytes; the library's implementation can't be continued.</summary>
    private static uint ContinueCrc32(uint crc, ReadOnlySpan<byte> more)
    {
        crc = ~crc;
        foreach (var one in more)
            crc = CrcTable[(byte)crc ^ one] ^ (crc >> 8);
        return ~crc;
    }

    private static MemoryStream Read(ReadOnlyMemory<byte> gzip) => MemoryMarshal.TryGetArray(gzip, out var bytes)
        ? new MemoryStream(bytes.Array!, bytes.Offset, bytes.Count) : new MemoryStream(gzip.ToArray());

    private static StoreMismatchException InvalidGzip() => new("a range of passwords is damaged: its gzip data can't be decompressed");
}
