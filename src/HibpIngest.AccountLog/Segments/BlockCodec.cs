namespace HibpIngest.AccountLog;

/// <summary>How a block's payload is compressed; the numbers are the format's.</summary>
public enum BlockCodec : byte
{
    /// <summary>Not at all: what a block gets that would not become shorter.</summary>
    None = 0,

    /// <summary>One block of LZ4 (github.com/lz4/lz4, lz4_Block_format.md): read at the speed of a disk.</summary>
    Lz4 = 1,

    /// <summary>One Brotli stream (RFC 7932): a third smaller, a fifth as fast to read. For cold storage.</summary>
    Brotli = 2,
}
