namespace HibpIngest.AccountLog;

/// <summary>
/// What a segment may hold at most, and what a reader refuses before it allocates (docs/account-log.md). A segment of 400 batches
/// of 20,000 rows, each two slices, is at both of the first two what it usually is at most.
/// </summary>
public static class SegmentLimits
{
    /// <summary>Rows of a segment: 400 batches of 20,000.</summary>
    public const int Rows = 8_000_000;

    /// <summary>Blocks of a segment: 82 times the usual 800, for loads of small slices; their index has 2 MiB.</summary>
    public const int Blocks = 65_536;

    /// <summary>Rows of a block: as many as a slice may have (HIBP_SLICEROWS).</summary>
    public const int BlockRows = 100_000;

    /// <summary>Rows that make a domain one that is listed in the footer.</summary>
    public const int LargeDomainRows = 1_000;

    /// <summary>Bytes of a header: the names in it have some 4,000 at most.</summary>
    public const int HeaderBytes = 16 * 1024;

    /// <summary>Bytes of the longest alias.</summary>
    public const int AliasBytes = 64;

    /// <summary>Bytes of the shortest domain,</summary>
    public const int LeastDomainBytes = 4;

    /// <summary>and of the longest.</summary>
    public const int DomainBytes = 255;

    public const int FrameBytes = 40;

    /// <summary>Bytes of the footer's fixed end.</summary>
    internal const int TailBytes = 48;

    /// <summary>Bytes of a block in the footer's index.</summary>
    internal const int IndexBytes = 32;

    /// <summary>A domain of its own for each row: length, domain, count of one, token, length of the suffix, alias.</summary>
    private const int MostRowBytes = 1 + DomainBytes + 1 + 1 + 1 + AliasBytes;

    /// <summary>The number of domains before the first of them, as a varint.</summary>
    private const int CountBytes = 5;

    /// <summary>Bytes of a footer with the most blocks and large domains, each with its length and a count of up to four bytes.</summary>
    internal const int FooterBytes = (Blocks * IndexBytes) + (Rows / LargeDomainRows * (1 + DomainBytes + 4)) + TailBytes;

    /// <summary>Bytes of the longest payload with so many rows, decompressed.</summary>
    internal static int RawBytes(int rows) => CountBytes + (rows * MostRowBytes);
}
