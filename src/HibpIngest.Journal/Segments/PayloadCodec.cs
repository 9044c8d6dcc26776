using System.Buffers;
using System.IO.Compression;

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

/// <summary>Compression of a block's payload; the numbers are part of the format.</summary>
public enum BlockCodec : byte
{
    /// <summary>Uncompressed: for a payload that compression would not make shorter.</summary>
    None = 0,

    /// <summary>One block of LZ4 (github.com/lz4/lz4, lz4_Block_format.md); decompresses at the speed of a disk.</summary>
    Lz4 = 1,

    /// <summary>One Brotli stream (RFC 7932): a third smaller than LZ4, a fifth as fast to read. For cold storage.</summary>
    Brotli = 2,
}
