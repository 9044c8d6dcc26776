using K4os.Compression.LZ4;

namespace HibpIngest.Journal.Segments;

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

    /// <summary>
    /// Returns false if a match has distance 0, which the format forbids: the library accepts it and leaves the buffer's former bytes
    /// there. Expects a block that the library has decoded, so that all its lengths are valid.
    /// </summary>
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
