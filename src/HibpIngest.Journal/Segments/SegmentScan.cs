namespace HibpIngest.Journal.Segments;

/// <summary>Decodes a segment's blocks in groups, each of which is read at once.</summary>
internal static class SegmentScan
{
    /// <summary>Maximum size of a group, unless a single block is larger.</summary>
    public const int GroupBytes = 1 << 20;

    /// <summary>Returns the size of a buffer for any group of a segment.</summary>
    public static int BufferBytes(SegmentIndex index)
    {
        var most = SegmentLimits.FrameBytes + index.MaxStoredBytes;
        return (int)Math.Min(Math.Max(GroupBytes, most), index.Length);
    }

    /// <summary>Returns the number of the first block after the group that begins with this one.</summary>
    public static int EndOfGroup(SegmentIndex index, int first)
    {
        var blocks = index.Blocks;
        var end = first + 1;
        while (end < blocks.Length && blocks[end].End - blocks[first].Offset <= GroupBytes)
            end++;
        return end;
    }

    /// <param name="end">The first block after the group.</param>
    /// <param name="raw">Room for any block's payload.</param>
    public static void Decode<TVisitor>(
        SegmentIndex index, int first, int end, ReadOnlySpan<byte> group, Span<byte> raw, ref TVisitor visitor)
        where TVisitor : struct, IAccountVisitor
    {
        var start = index.Blocks[first].Offset;
        foreach (ref readonly var block in index.Blocks[first..end])
            BlockDecoder.Decode(index.Name, block, group[(int)(block.Offset - start)..(int)(block.End - start)], raw, ref visitor);
    }

    /// <summary>
    /// Checks the counted rows and large domains against header and footer; each block's rows are checked when it is decoded.
    /// </summary>
    public static SegmentVerification Verify(SegmentIndex index, long rows, DomainCounts domains)
    {
        if (rows != index.Facts.Rows)
            throw new DamagedSegmentException(
                index.Name, null, 0, $"its blocks have {rows} rows, and its header {index.Facts.Rows}");
        var counted = domains.List();
        if (!counted.SequenceEqual(index.LargeDomains))
            throw new DamagedSegmentException(
                index.Name, null, index.Length - index.Footer.Length,
                $"the footer lists {index.LargeDomains.Count} large domains, and its blocks have {counted.Count}, or others, or with other "
                + "rows");
        return new SegmentVerification(rows, index.Blocks.Length, index.Length);
    }
}
