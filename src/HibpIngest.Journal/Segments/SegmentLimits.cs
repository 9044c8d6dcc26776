namespace HibpIngest.Journal.Segments;

/// <summary>
/// Limits of a segment, which a reader enforces before it allocates (docs/journal.md). The largest usual segment has 400 batches of
/// 20,000 rows, with two slices each.
/// </summary>
public static class SegmentLimits
{
    /// <summary>Maximum rows of a segment: 400 batches of 20,000.</summary>
    public const int Rows = 8_000_000;

    /// <summary>Maximum blocks of a segment: 82 times the usual 800, for loads with small slices; their index takes 2 MiB.</summary>
    public const int Blocks = 65_536;

    /// <summary>Maximum rows of a block, which is that of a slice (HIBP_SLICEROWS).</summary>
    public const int BlockRows = 100_000;

    /// <summary>Minimum rows of a domain to be listed in the footer.</summary>
    public const int LargeDomainRows = 1_000;

    /// <summary>Maximum size of a header: its names take about 4,000 bytes at most.</summary>
    public const int HeaderBytes = 16 * 1024;

    /// <summary>Maximum length of an alias.</summary>
    public const int AliasBytes = 64;

    public const int MinDomainBytes = 4;

    /// <summary>Maximum length of a domain.</summary>
    public const int DomainBytes = 255;

    public const int FrameBytes = 40;

    /// <summary>Size of the footer's fixed end.</summary>
    internal const int TailBytes = 48;

    /// <summary>Size of a block's entry in the footer's index.</summary>
    internal const int IndexBytes = 32;

    /// <summary>A row with a domain of its own: length, domain, count of one, token, length of the suffix, alias.</summary>
    private const int MaxRowBytes = 1 + DomainBytes + 1 + 1 + 1 + AliasBytes;

    /// <summary>The number of domains at the start of a payload, as a varint.</summary>
    private const int CountBytes = 5;

    /// <summary>Maximum size of a footer: each large domain has a length and a count of up to four bytes.</summary>
    internal const int FooterBytes = (Blocks * IndexBytes) + (Rows / LargeDomainRows * (1 + DomainBytes + 4)) + TailBytes;

    /// <summary>Returns the maximum size of a decompressed payload.</summary>
    internal static int RawBytes(int rows) => CountBytes + (rows * MaxRowBytes);
}
