namespace HibpIngest.Journal.Segments;

/// <summary>
/// Reads a segment of the journal. Header and footer are read on opening, and everything else is checked against them. Allocates
/// nothing per account. Runs one read at a time.
/// </summary>
public sealed class SegmentReader : IAsyncDisposable
{
    private readonly IJournalBlobs _blobs;
    private readonly SegmentIndex _index;
    private PooledArray<byte> _group;
    private PooledArray<byte> _nextGroup;
    private PooledArray<byte> _raw;

    private SegmentReader(IJournalBlobs blobs, SegmentIndex index) => (_blobs, _index) = (blobs, index);

    public string Name => _index.Name;

    public SegmentFacts Facts => _index.Facts;

    /// <summary>The blocks in order, one per slice.</summary>
    public IReadOnlyList<SegmentBlock> Blocks => _index.BlockList;

    /// <summary>Domains with at least <see cref="SegmentLimits.LargeDomainRows"/> rows, ascending by bytes.</summary>
    public IReadOnlyList<LargeDomain> LargeDomains => _index.LargeDomains;

    public long Rows => Facts.Rows;

    public long Length => _index.Length;

    /// <summary>Header and footer together identify the segment's content.</summary>
    public ReadOnlyMemory<byte> HeaderBytes => _index.Header;

    public ReadOnlyMemory<byte> FooterBytes => _index.Footer;

    /// <summary>Opens a segment: one request for its length and two for its ends.</summary>
    /// <exception cref="StoreMissingException">The blob doesn't exist.</exception>
    /// <exception cref="DamagedSegmentException">Header or footer is damaged.</exception>
    public static async Task<SegmentReader> OpenAsync(IJournalBlobs blobs, string name, CancellationToken cancellationToken)
    {
        var length = await blobs.FindAsync(name, cancellationToken) ?? throw Missing(name);
        if (length < SegmentHeader.MinBytes + SegmentLimits.TailBytes)
            throw new DamagedSegmentException(name, null, 0, $"it has {length} bytes, fewer than the shortest segment");
        var endOffset = Math.Max(0, length - SegmentIndex.UsualFooterBytes);
        var end = await ReadAsync(blobs, name, endOffset, length - endOffset, cancellationToken);
        var footerOffset = SegmentIndex.FooterOffset(name, length, end.Span);
        var footer = footerOffset >= endOffset ? end[(int)(footerOffset - endOffset)..]
            : await ReadAsync(blobs, name, footerOffset, length - footerOffset, cancellationToken);
        // The end of a small segment includes its start.
        var start = endOffset == 0 ? end[..(int)footerOffset]
            : await ReadAsync(blobs, name, 0, Math.Min(footerOffset, SegmentLimits.HeaderBytes), cancellationToken);
        return new SegmentReader(blobs, SegmentIndex.Read(name, length, start, footer));
    }

    /// <summary>Reads the whole segment as one stream; decodes one part while the next is being read.</summary>
    /// <returns>The visitor with its final state.</returns>
    /// <exception cref="DamagedSegmentException">
    /// A block is damaged. The visitor has received the blocks before it and, if its checksum is right, part of it.
    /// </exception>
    public async Task<TVisitor> ReadAsync<TVisitor>(TVisitor visitor, CancellationToken cancellationToken)
        where TVisitor : struct, IAccountVisitor
    {
        var start = HeaderBytes.Length;
        await using var stream = await OpenStreamAsync(start, Length - FooterBytes.Length - start, cancellationToken);
        var size = SegmentScan.BufferBytes(_index);
        var (group, nextGroup, raw) = (_group.Get(size), _nextGroup.Get(size), _raw.Get(_index.MaxRawBytes));
        var first = 0;
        var end = SegmentScan.EndOfGroup(_index, first);
        await ReadGroupAsync(stream, first, end, group, cancellationToken);
        while (true)
        {
            var nextEnd = end < Blocks.Count ? SegmentScan.EndOfGroup(_index, end) : end;
            var reading = nextEnd > end ? ReadGroupAsync(stream, end, nextEnd, nextGroup, cancellationToken) : Task.CompletedTask;
            try
            {
                SegmentScan.Decode(_index, first, end, group, raw, ref visitor);
            }
            finally
            {
                // The pending read must end even if decoding failed: it writes into a buffer that goes back to the pool.
                await reading.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            }
            await reading;
            if (nextEnd == end)
                return visitor;
            (first, end) = (end, nextEnd);
            (group, nextGroup) = (nextGroup, group);
        }
    }

    /// <summary>Reads the block that holds a position, with one request.</summary>
    /// <param name="into">Cleared first; receives all rows of the block, by domain and alias instead of by position.</param>
    /// <exception cref="DamagedSegmentException">The block is damaged. The batch is not usable.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The segment doesn't hold that position.</exception>
    public async Task ReadBlockAsync(long position, AccountBatch into, CancellationToken cancellationToken)
    {
        var block = Blocks[_index.Find(position)];
        if (into.Capacity < block.Rows)
            throw new ArgumentException($"the block has {block.Rows} accounts, expected at most the batch's {into.Capacity}", nameof(into));
        var bytes = _group.Get((int)(block.End - block.Offset));
        await using var stream = await OpenStreamAsync(block.Offset, block.End - block.Offset, cancellationToken);
        await ReadGroupAsync(stream, block.Number, block.Number + 1, bytes, cancellationToken);
        var visitor = new BatchVisitor(into);
        SegmentScan.Decode(_index, block.Number, block.Number + 1, bytes, _raw.Get(block.RawBytes), ref visitor);
    }

    /// <summary>Reads every byte and checks every checksum, order, count and large domain.</summary>
    /// <exception cref="DamagedSegmentException">A check failed.</exception>
    public async Task<SegmentVerification> VerifyAsync(CancellationToken cancellationToken)
    {
        var domains = new DomainCounts();
        var counted = await ReadAsync(new CountVisitor(domains), cancellationToken);
        return SegmentScan.Verify(_index, counted.Rows, domains);
    }

    public ValueTask DisposeAsync()
    {
        _group.Dispose();
        _nextGroup.Dispose();
        _raw.Dispose();
        return ValueTask.CompletedTask;
    }

    private static StoreMissingException Missing(string name) =>
        new($"segment '{name}' is missing in the journal: restore the blob, or, if its load's rows are still in "
            + "SQL, run: hibp journal write --load LOAD --again");

    private static async Task<ReadOnlyMemory<byte>> ReadAsync(
        IJournalBlobs blobs, string name, long offset, long length, CancellationToken cancellationToken)
    {
        await using var stream = await blobs.OpenAsync(name, offset, length, cancellationToken) ?? throw Missing(name);
        var bytes = new byte[length];
        var read = await stream.ReadAtLeastAsync(bytes, bytes.Length, throwOnEndOfStream: false, cancellationToken);
        return read == bytes.Length ? bytes
            : throw new DamagedSegmentException(name, null, offset + read, $"it ends here, and {length - read} bytes more were expected");
    }

    private async Task<Stream> OpenStreamAsync(long offset, long length, CancellationToken cancellationToken) =>
        await _blobs.OpenAsync(Name, offset, length, cancellationToken) ?? throw Missing(Name);

    private async Task ReadGroupAsync(Stream stream, int first, int end, byte[] into, CancellationToken cancellationToken)
    {
        var length = (int)(Blocks[end - 1].End - Blocks[first].Offset);
        var read = await stream.ReadAtLeastAsync(into.AsMemory(0, length), length, throwOnEndOfStream: false, cancellationToken);
        if (read != length)
            throw new DamagedSegmentException(
                Name, first, Blocks[first].Offset,
                $"the blob ends at byte {Blocks[first].Offset + read}, but had {Length} bytes before");
    }
}

/// <summary>Every byte of a segment was read, and all checksums are right.</summary>
/// <param name="Rows">Rows decoded: as many as in its index.</param>
public sealed record SegmentVerification(long Rows, int Blocks, long Bytes);

/// <summary>Decodes a segment's blocks in groups, each of which is read at once.</summary>
internal static class SegmentScan
{
    /// <summary>Maximum size of a group, unless a single block is larger.</summary>
    private const int GroupBytes = 1 << 20;

    public static int BufferBytes(SegmentIndex index) =>
        (int)Math.Min(Math.Max(GroupBytes, SegmentLimits.FrameBytes + index.MaxStoredBytes), index.Length);

    /// <summary>Returns the number of the first block after the group that begins with this one.</summary>
    public static int EndOfGroup(SegmentIndex index, int first)
    {
        var blocks = index.Blocks;
        var end = first + 1;
        while (end < blocks.Length && blocks[end].End - blocks[first].Offset <= GroupBytes)
            end++;
        return end;
    }

    /// <param name="raw">Room for any block's payload.</param>
    public static void Decode<TVisitor>(
        SegmentIndex index, int first, int end, ReadOnlySpan<byte> group, Span<byte> raw, ref TVisitor visitor)
        where TVisitor : struct, IAccountVisitor
    {
        var start = index.Blocks[first].Offset;
        foreach (ref readonly var block in index.Blocks[first..end])
            BlockDecoder.Decode(index.Name, block, group[(int)(block.Offset - start)..(int)(block.End - start)], raw, ref visitor);
    }

    // Each block's rows are checked when it is decoded.
    public static SegmentVerification Verify(SegmentIndex index, long rows, DomainCounts domains)
    {
        if (rows != index.Facts.Rows)
            throw new DamagedSegmentException(
                index.Name, null, 0, $"its blocks have {rows} rows, but its header says {index.Facts.Rows}");
        var counted = domains.List();
        if (!counted.SequenceEqual(index.LargeDomains))
            throw new DamagedSegmentException(
                index.Name, null, index.Length - index.Footer.Length,
                $"the {index.LargeDomains.Count} large domains in the footer differ in number, name or rows from the {counted.Count} in "
                + "the blocks");
        return new SegmentVerification(rows, index.Blocks.Length, index.Length);
    }
}
