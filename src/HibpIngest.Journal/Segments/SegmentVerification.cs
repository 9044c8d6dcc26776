namespace HibpIngest.Journal.Segments;

/// <summary>The result of reading every byte of a segment with all checksums right.</summary>
/// <param name="Rows">Rows decoded: as many as in its index.</param>
public sealed record SegmentVerification(long Rows, int Blocks, long Bytes);
