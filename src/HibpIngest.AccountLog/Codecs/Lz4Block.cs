using K4os.Compression.LZ4;

namespace HibpIngest.AccountLog;

/// <summary>One block of LZ4 (github.com/lz4/lz4, doc/lz4_Block_format.md), without a frame.</summary>
internal static class Lz4Block
{
    /// <summary>10.5 bytes an account. The fast level makes 13.5 of them, level 4 10.4, and both are read no faster.</summary>
    private const LZ4Level Level = LZ4Level.L03_HC;

    /// <summary>A nibble that says that more bytes of a length follow.</summary>
    private const int NibbleFull = 15;

    /// <summary>Compresses: with the same version of the library, the same input makes the same bytes.</summary>
    /// <returns>Bytes written; 0: there is no room for them.</returns>
    public static int Compress(ReadOnlySpan<byte> source, Span<byte> destination) =>
        Math.Max(LZ4Codec.Encode(source, destination, Level), 0);

    /// <summary>Decompresses a block that makes exactly as many bytes as there is room for, at least one.</summary>
    /// <returns>False: it is no such block. The content of <paramref name="destination"/> then means nothing.</returns>
    public static bool TryDecompress(ReadOnlySpan<byte> source, Span<byte> destination) =>
        !destination.IsEmpty && LZ4Codec.Decode(source, destination) == destination.Length && HasDistances(source);

    /// <summary>
    /// Returns false if a match is at distance 0, which the format forbids: the library accepts it, and leaves there what the buffer
    /// held before. Expects a block that the library has decoded, so that all its lengths are right.
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
