namespace HibpIngest.AccountLog;

/// <summary>
/// What a segment became. Two segments with equal headers and footers are equal: the footer has every block's checksum.
/// </summary>
/// <param name="Header">Its first bytes.</param>
/// <param name="Footer">Its last bytes.</param>
/// <param name="Length">Bytes of all of it.</param>
public sealed record SegmentSeal(ReadOnlyMemory<byte> Header, ReadOnlyMemory<byte> Footer, long Length, long Rows, int Blocks);
