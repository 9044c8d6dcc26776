using System.Buffers;
using System.IO.Compression;
using K4os.Compression.LZ4;

namespace HibpIngest.Journal.Segments;

internal static class PayloadCodec
{
    /// <summary>8.1 bytes an account, at 0.6 s a million accounts (docs/figures.md).</summary>
    private const int BrotliQuality = 5;

    /// <summary>256 KiB: the size of a usual slice's block.</summary>
    private const int BrotliWindow = 18;

    /// <returns>Bytes written; 0: compression would not make them fewer.</returns>
    public static int Compress(BlockCodec codec, ReadOnlySpan<byte> raw, Span<byte> destination)
    {
        destination = destination[..(raw.Length - 1)];
        return codec switch
        {
            BlockCodec.Lz4 => Lz4Block.Compress(raw, destination),
            BlockCodec.Brotli => BrotliEncoder.TryCompress(raw, destination, out var written, BrotliQuality, BrotliWindow) ? written : 0,
            _ => 0,
        };
    }

    /// <summary>Decompresses a payload that must fill <paramref name="raw"/> exactly and be consumed entirely.</summary>
    public static bool TryDecompress(BlockCodec codec, ReadOnlySpan<byte> stored, Span<byte> raw)
    {
        switch (codec)
        {
            case BlockCodec.Lz4:
                return Lz4Block.TryDecompress(stored, raw);
            case BlockCodec.Brotli:
                using (var decoder = new BrotliDecoder())
                    return decoder.Decompress(stored, raw, out var read, out var written) == OperationStatus.Done
                        && read == stored.Length && written == raw.Length;
            default:
                return stored.Length == raw.Length && stored.TryCopyTo(raw);
        }
    }
}

/// <summary>One block of LZ4 (github.com/lz4/lz4, doc/lz4_Block_format.md), without a frame.</summary>
internal static class Lz4Block
{
    /// <summary>10.5 bytes an account; the fast level takes 13.5, level 4 10.4. Decompression is no faster with either.</summary>
    private const LZ4Level Level = LZ4Level.L03_HC;

    /// <summary>A nibble of this value means that more bytes of the length follow.</summary>
    private const int NibbleFull = 15;

    /// <summary>Compresses deterministically for a given version of the library.</summary>
    /// <returns>Bytes written; 0: the destination is too small.</returns>
    public static int Compress(ReadOnlySpan<byte> source, Span<byte> destination) =>
        Math.Max(LZ4Codec.Encode(source, destination, Level), 0);

    /// <summary>Decompresses a block that must fill <paramref name="destination"/> exactly, with at least one byte.</summary>
    /// <returns>False if it isn't such a block; the content of <paramref name="destination"/> is then undefined.</returns>
    public static bool TryDecompress(ReadOnlySpan<byte> source, Span<byte> destination) =>
        !destination.IsEmpty && LZ4Codec.Decode(source, destination) == destination.Length && HasDistances(source);

    // Returns false if a match has distance 0, which the format forbids: the library accepts it and leaves the buffer's former bytes
    // there. Expects a block that the library has decoded, so that all its lengths are valid.
    private static bool HasDistances(ReadOnlySpan<byte> source)
    {
        for (var at = 0; ;)
        {
            var token = source[at++];
            var literals = token >> 4;
            if (literals == NibbleFull)
                literals += ReadLength(source, ref at);
            at += literals;
            if (at == source.Length)
                return true;
            if ((source[at] | source[at + 1]) == 0)
                return false;
            at += sizeof(ushort);
            if ((token & NibbleFull) == NibbleFull)
                ReadLength(source, ref at);
        }
    }

    private static int ReadLength(ReadOnlySpan<byte> source, ref int at)
    {
        for (var length = 0; ;)
        {
            var more = source[at++];
            length += more;
            if (more != byte.MaxValue)
                return length;
        }
    }
}

/// <summary>Compression of a block's payload; the numbers are part of the format.</summary>
public enum BlockCodec : byte
{
    /// <summary>Uncompressed: for a payload that compression would not make shorter.</summary>
    None = 0,

    /// <summary>One block of LZ4 (github.com/lz4/lz4, lz4_Block_format.md); decompresses at the speed of a disk.</summary>
    Lz4 = 1,

    /// <summary>One Brotli stream (RFC 7932): a quarter smaller than LZ4, a third as fast to read. For cold storage.</summary>
    Brotli = 2,
}
