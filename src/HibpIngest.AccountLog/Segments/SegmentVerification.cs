namespace HibpIngest.AccountLog;

/// <summary>What was found in a segment of which every byte was read and every checksum was right.</summary>
/// <param name="Rows">Rows decoded: as many as its index has.</param>
public sealed record SegmentVerification(long Rows, int Blocks, long Bytes);
