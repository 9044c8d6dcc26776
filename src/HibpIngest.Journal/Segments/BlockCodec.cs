namespace HibpIngest.Journal.Segments;

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
