namespace HibpIngest.AccountLog;

/// <summary>
/// What a segment became. Two segments with equal headers and footers are equal: the footer has every block's checksum.
/// </summary>
public sealed record SegmentSeal(ReadOnlyMemory<byte> Header, ReadOnlyMemory<byte> Footer, long Length, long Rows, int Blocks);
