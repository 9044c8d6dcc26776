namespace HibpIngest.Journal.Segments;

/// <summary>A block's entry in a segment's index: the rows of one slice.</summary>
/// <param name="Number">Number within the segment, 0-based.</param>
/// <param name="Slice">Number of the slice within the load, 1-based.</param>
/// <param name="Offset">Offset of its frame within the segment.</param>
/// <param name="First">Position of its first row within the load.</param>
/// <param name="StoredBytes">Stored size of the payload, without the frame of 40 bytes before it.</param>
/// <param name="Crc">CRC32C of frame and payload.</param>
public readonly record struct SegmentBlock(
    int Number, int Slice, long Offset, long First, int Rows, int StoredBytes, int RawBytes, uint Crc)
{
    public long Last => First + Rows - 1;

    /// <summary>Offset of the first byte after the block.</summary>
    public long End => Offset + SegmentLimits.FrameBytes + StoredBytes;
}
