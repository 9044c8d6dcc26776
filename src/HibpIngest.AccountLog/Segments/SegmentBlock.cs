namespace HibpIngest.AccountLog;

/// <summary>A block of a segment, as the segment's index has it: the rows of one slice.</summary>
/// <param name="Number">Within the segment, 0-based.</param>
/// <param name="Slice">Number of the slice within the load, 1-based.</param>
/// <param name="Offset">Of its frame within the segment.</param>
/// <param name="First">Position of its first row within the load.</param>
/// <param name="StoredBytes">Of its payload as stored; the frame of 40 bytes comes before it.</param>
/// <param name="Crc">CRC32C of frame and payload.</param>
public readonly record struct SegmentBlock(
    int Number, int Slice, long Offset, long First, int Rows, int StoredBytes, int RawBytes, uint Crc)
{
    public long Last => First + Rows - 1;

    /// <summary>Of the first byte behind it.</summary>
    public long End => Offset + SegmentLimits.FrameBytes + StoredBytes;
}
