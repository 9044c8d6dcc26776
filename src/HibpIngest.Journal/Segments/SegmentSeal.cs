namespace HibpIngest.Journal.Segments;

/// <summary>A finished segment. Equal header and footer mean equal segments: the footer holds every block's checksum.</summary>
public sealed record SegmentSeal(ReadOnlyMemory<byte> Header, ReadOnlyMemory<byte> Footer, long Length, long Rows, int Blocks);
