namespace HibpIngest.Journal.Segments;

/// <summary>A segment's header and footer, checked against each other and against the segment's length.</summary>
internal sealed class SegmentIndex(
    string name, SegmentFacts facts, long length, ReadOnlyMemory<byte> header, ReadOnlyMemory<byte> footer, SegmentBlock[] blocks,
    List<LargeDomain> largeDomains)
{
    /// <summary>Read first from the end: includes the footer of a segment of the usual size.</summary>
    public const int UsualFooterBytes = 64 * 1024;

    public string Name => name;

    public SegmentFacts Facts => facts;

    public long Length => length;

    public ReadOnlyMemory<byte> Header => header;

    public ReadOnlyMemory<byte> Footer => footer;

    public ReadOnlySpan<SegmentBlock> Blocks => blocks;

    public IReadOnlyList<SegmentBlock> BlockList => blocks;

    public IReadOnlyList<LargeDomain> LargeDomains => largeDomains;

    public int MaxRawBytes { get; } = blocks.Max(block => block.RawBytes);

    public int MaxStoredBytes { get; } = blocks.Max(block => block.StoredBytes);

    private static ReadOnlySpan<byte> Magic => "GESH"u8;

    /// <param name="blocks">The blocks in order; at least one.</param>
    /// <param name="large">Ascending by bytes.</param>
    public static byte[] Write(ReadOnlySpan<byte> header, IReadOnlyList<SegmentBlock> blocks, IReadOnlyList<LargeDomain> large)
    {
        var footer = new byte[(blocks.Count * SegmentLimits.IndexBytes) + (large.Count * (1 + SegmentLimits.DomainBytes + 4))
            + SegmentLimits.TailBytes];
        var (at, rows) = (0, 0L);
        foreach (var block in blocks)
        {
            var entry = footer.AsSpan(at, SegmentLimits.IndexBytes);
            BinaryPrimitives.WriteInt64LittleEndian(entry, block.Offset);
            BinaryPrimitives.WriteInt64LittleEndian(entry[8..], block.First);
            BinaryPrimitives.WriteInt32LittleEndian(entry[16..], block.StoredBytes);
            BinaryPrimitives.WriteInt32LittleEndian(entry[20..], block.RawBytes);
            BinaryPrimitives.WriteInt32LittleEndian(entry[24..], block.Rows);
            BinaryPrimitives.WriteUInt32LittleEndian(entry[28..], block.Crc);
            at += entry.Length;
            rows += block.Rows;
        }
        foreach (var domain in large)
        {
            footer[at++] = (byte)domain.Domain.Length;
            at += Encoding.ASCII.GetBytes(domain.Domain, footer.AsSpan(at));
            at += Varint.Write(footer.AsSpan(at), domain.Rows);
        }
        var tail = footer.AsSpan(at, SegmentLimits.TailBytes);
        BinaryPrimitives.WriteInt64LittleEndian(tail, blocks[^1].End);
        BinaryPrimitives.WriteInt32LittleEndian(tail[8..], blocks.Count);
        BinaryPrimitives.WriteInt32LittleEndian(tail[12..], large.Count);
        BinaryPrimitives.WriteInt64LittleEndian(tail[16..], rows);
        BinaryPrimitives.WriteInt64LittleEndian(tail[24..], blocks[^1].Last);
        BinaryPrimitives.WriteInt32LittleEndian(tail[32..], blocks[0].Slice);
        BinaryPrimitives.WriteUInt32LittleEndian(tail[36..], SegmentHeader.Crc(header));
        BinaryPrimitives.WriteUInt32LittleEndian(tail[40..], Crc32C.Compute(footer.AsSpan(0, at + 40)));
        Magic.CopyTo(tail[44..]);
        return footer[..(at + SegmentLimits.TailBytes)];
    }

    /// <param name="end">The segment's last bytes: at least as many as the fixed tail, if it is long enough.</param>
    public static long FooterOffset(string segment, long length, ReadOnlySpan<byte> end)
    {
        if (end.Length < SegmentLimits.TailBytes || !end.EndsWith(Magic))
            throw SegmentHeader.Damage(
                segment, Math.Max(0, length - SegmentLimits.TailBytes), "no segment ends here: it may have been cut off");
        var tail = end[^SegmentLimits.TailBytes..];
        var offset = BinaryPrimitives.ReadInt64LittleEndian(tail);
        if (offset < SegmentHeader.MinBytes || offset > length - SegmentLimits.TailBytes || length - offset > SegmentLimits.FooterBytes)
            throw SegmentHeader.Damage(
                segment, length - SegmentLimits.TailBytes,
                $"its footer begins at {offset} of {length} bytes, and at most {SegmentLimits.FooterBytes} of footer were expected");
        return offset;
    }

    /// <param name="start">The segment's first bytes: all of it, or at least <see cref="SegmentLimits.HeaderBytes"/>.</param>
    public static SegmentIndex Read(string segment, long length, ReadOnlyMemory<byte> start, ReadOnlyMemory<byte> footer)
    {
        var facts = SegmentHeader.Read(segment, start, out var header);
        var bytes = footer.Span;
        var tail = bytes[^SegmentLimits.TailBytes..];
        var tailOffset = length - SegmentLimits.TailBytes;
        if (BinaryPrimitives.ReadUInt32LittleEndian(tail[40..]) != Crc32C.Compute(bytes[..^8]))
            throw SegmentHeader.Damage(segment, length - footer.Length, "the footer's checksum is not that of its bytes");
        if (BinaryPrimitives.ReadUInt32LittleEndian(tail[36..]) != SegmentHeader.Crc(header.Span))
            throw SegmentHeader.Damage(segment, tailOffset, "the footer is not of this header");
        var (blocks, large) = (BinaryPrimitives.ReadInt32LittleEndian(tail[8..]), BinaryPrimitives.ReadInt32LittleEndian(tail[12..]));
        var (rows, last) = (BinaryPrimitives.ReadInt64LittleEndian(tail[16..]), BinaryPrimitives.ReadInt64LittleEndian(tail[24..]));
        if (rows != facts.Rows || last != facts.Last)
            throw SegmentHeader.Damage(
                segment, tailOffset,
                $"the footer has {rows} rows up to position {last}, and the header positions {facts.First} to {facts.Last}");
        if (blocks < 1 || blocks > Math.Min(SegmentLimits.Blocks, (bytes.Length - SegmentLimits.TailBytes) / SegmentLimits.IndexBytes))
            throw SegmentHeader.Damage(segment, tailOffset, $"the footer has {blocks} blocks in {bytes.Length} bytes");
        var index = ReadBlocks(
            segment, facts, length - footer.Length, header.Length, BinaryPrimitives.ReadInt32LittleEndian(tail[32..]),
            bytes[..(blocks * SegmentLimits.IndexBytes)]);
        var domains = ReadLargeDomains(
            segment, length - footer.Length, rows, large, bytes[..^SegmentLimits.TailBytes], blocks * SegmentLimits.IndexBytes);
        return new SegmentIndex(segment, facts, length, header, footer, index, domains);
    }

    public int Find(long position)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(position, facts.First);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(position, facts.Last);
        var (low, high) = (0, blocks.Length - 1);
        while (low < high)
        {
            var middle = (low + high + 1) / 2;
            (low, high) = blocks[middle].First <= position ? (middle, high) : (low, middle - 1);
        }
        return low;
    }

    private static SegmentBlock[] ReadBlocks(
        string segment, SegmentFacts facts, long footerOffset, long offset, int slice, ReadOnlySpan<byte> index)
    {
        var blocks = new SegmentBlock[index.Length / SegmentLimits.IndexBytes];
        if (slice < 1 || slice > int.MaxValue - blocks.Length)
            throw SegmentHeader.Damage(segment, footerOffset, $"its first slice has number {slice}");
        var next = facts.First;
        for (var number = 0; number < blocks.Length; number++)
        {
            var entry = index.Slice(number * SegmentLimits.IndexBytes, SegmentLimits.IndexBytes);
            var block = new SegmentBlock(
                number, slice + number, BinaryPrimitives.ReadInt64LittleEndian(entry), BinaryPrimitives.ReadInt64LittleEndian(entry[8..]),
                BinaryPrimitives.ReadInt32LittleEndian(entry[24..]), BinaryPrimitives.ReadInt32LittleEndian(entry[16..]),
                BinaryPrimitives.ReadInt32LittleEndian(entry[20..]), BinaryPrimitives.ReadUInt32LittleEndian(entry[28..]));
            var problem =
                block.Offset != offset || block.First != next
                    ? $"it begins at byte {block.Offset} with position {block.First}, and byte {offset} with position {next} was expected"
                : block.Rows < 1 || block.Rows > facts.SliceRows
                    ? $"it has {block.Rows} rows, and at most {facts.SliceRows} were expected"
                : block.RawBytes < 1 || block.RawBytes > SegmentLimits.RawBytes(block.Rows)
                    ? $"it has {block.RawBytes} bytes when decompressed, and at most {SegmentLimits.RawBytes(block.Rows)} were expected"
                : block.StoredBytes < 1 || block.StoredBytes > block.RawBytes || block.End > footerOffset
                    ? $"it has {block.StoredBytes} bytes, which decompress to {block.RawBytes}, and the footer begins at {footerOffset}"
                : null;
            if (problem is not null)
                throw new DamagedSegmentException(
                    segment, number, offset,
                    $"by the footer's entry at byte {footerOffset + (number * SegmentLimits.IndexBytes)}, {problem}");
            (offset, next, blocks[number]) = (block.End, next + block.Rows, block);
        }
        if (offset != footerOffset || next - 1 != facts.Last)
            throw SegmentHeader.Damage(
                segment, footerOffset,
                $"its blocks end at byte {offset} with position {next - 1}, and byte {footerOffset} with position {facts.Last} was "
                + "expected");
        return blocks;
    }

    private static List<LargeDomain> ReadLargeDomains(
        string segment, long footerOffset, long rows, int count, ReadOnlySpan<byte> footer, int at)
    {
        // The count is checked before the allocation: each domain takes at least seven bytes.
        if (count < 0 || count > rows / SegmentLimits.LargeDomainRows)
            throw SegmentHeader.Damage(segment, footerOffset + at, $"the footer has {count} large domains of {rows} rows");
        var domains = new List<LargeDomain>(Math.Min(count, footer.Length / 7));
        ReadOnlySpan<byte> before = [];
        for (; count > 0; count--)
        {
            var start = at;
            if (at >= footer.Length || footer[at] < SegmentLimits.MinDomainBytes || footer[at] >= footer.Length - at)
                throw SegmentHeader.Damage(segment, footerOffset + start, "the footer ends before its last domain");
            var domain = footer.Slice(at + 1, footer[at]);
            at += 1 + domain.Length;
            if (domain.ContainsAnyExceptInRange(BlockDecoder.FirstCharacter, BlockDecoder.LastCharacter)
                || domain.SequenceCompareTo(before) <= 0)
                throw SegmentHeader.Damage(segment, footerOffset + start, "a domain of the footer is none, or not in order");
            before = domain;
            if (!Varint.TryRead(footer, ref at, out var domainRows) || domainRows < SegmentLimits.LargeDomainRows || domainRows > rows)
                throw SegmentHeader.Damage(segment, footerOffset + start, "a domain of the footer has too few rows, or more than are left");
            rows -= domainRows;
            domains.Add(new LargeDomain(Encoding.ASCII.GetString(domain), domainRows));
        }
        return at == footer.Length ? domains
            : throw SegmentHeader.Damage(segment, footerOffset + at, "the footer continues after its last domain");
    }
}

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
