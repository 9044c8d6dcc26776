using System.Runtime.ExceptionServices;
using HibpIngest.Accounts;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.AccountLog;

/// <summary>
/// Reads a segment of the account log. Header and footer are read when it is opened, and everything else is held against them.
/// Nothing is allocated per account. One read at a time.
/// </summary>
public sealed class SegmentReader : IAsyncDisposable
{
    private readonly IAccountLogBlobs _blobs;
    private readonly SegmentIndex _index;
    private PooledArray<byte> _group;
    private PooledArray<byte> _nextGroup;
    private PooledArray<byte> _raw;

    private SegmentReader(IAccountLogBlobs blobs, SegmentIndex index) => (_blobs, _index) = (blobs, index);

    public string Name => _index.Name;

    public SegmentFacts Facts => _index.Facts;

    /// <summary>Its blocks in order, one a slice.</summary>
    public IReadOnlyList<SegmentBlock> Blocks => _index.BlockList;

    /// <summary>Its domains with at least <see cref="SegmentLimits.LargeDomainRows"/> rows, ascending by bytes.</summary>
    public IReadOnlyList<LargeDomain> LargeDomains => _index.LargeDomains;

    public long Rows => Facts.Rows;

    public long Length => _index.Length;

    /// <summary>Its first bytes, as they lie there; with the footer's, they stand for all of it.</summary>
    public ReadOnlyMemory<byte> HeaderBytes => _index.Header;

    /// <summary>Its last bytes, as they lie there.</summary>
    public ReadOnlyMemory<byte> FooterBytes => _index.Footer;

    /// <summary>Opens a segment: two requests for its ends, behind one for its length.</summary>
    /// <exception cref="StoreMissingException">There is no such blob.</exception>
    /// <exception cref="DamagedSegmentException">Header or footer are not what a writer has sealed.</exception>
    public static async Task<SegmentReader> OpenAsync(IAccountLogBlobs blobs, string name, CancellationToken cancellationToken)
    {
        var length = await blobs.FindAsync(name, cancellationToken) ?? throw Missing(name);
        if (length < SegmentHeader.LeastBytes + SegmentLimits.TailBytes)
            throw new DamagedSegmentException(name, null, 0, $"it has {length} bytes, fewer than the shortest segment");
        var endOffset = Math.Max(0, length - SegmentIndex.UsualFooterBytes);
        var end = await ReadAsync(blobs, name, endOffset, length - endOffset, cancellationToken);
        var footerOffset = SegmentIndex.FooterOffset(name, length, end.Span);
        var footer = footerOffset >= endOffset ? end[(int)(footerOffset - endOffset)..]
            : await ReadAsync(blobs, name, footerOffset, length - footerOffset, cancellationToken);
        // A small one is there as a whole.
        var start = endOffset == 0 ? end[..(int)footerOffset]
            : await ReadAsync(blobs, name, 0, Math.Min(footerOffset, SegmentLimits.HeaderBytes), cancellationToken);
        return new SegmentReader(blobs, SegmentIndex.Read(name, length, start, footer));
    }

    /// <summary>
    /// Reads all of it as one stream; while a part is decoded, the next is on its way.
    /// </summary>
    /// <returns>The visitor as it has become.</returns>
    /// <exception cref="DamagedSegmentException">
    /// A block is not what was sealed. The visitor has had the blocks before it, and of one whose checksum is right a part of it.
    /// </exception>
    public async Task<TVisitor> ReadAsync<TVisitor>(TVisitor visitor, CancellationToken cancellationToken)
        where TVisitor : struct, IAccountVisitor
    {
        var start = HeaderBytes.Length;
        await using var stream = await OpenStreamAsync(start, Length - FooterBytes.Length - start, cancellationToken);
        var size = SegmentScan.BufferBytes(_index);
        var (group, nextGroup, raw) = (_group.Get(size), _nextGroup.Get(size), _raw.Get(_index.MostRawBytes));
        var first = 0;
        var end = SegmentScan.EndOfGroup(_index, first);
        await ReadGroupAsync(stream, first, end, group, cancellationToken);
        while (true)
        {
            var nextEnd = end < Blocks.Count ? SegmentScan.EndOfGroup(_index, end) : end;
            var reading = nextEnd > end ? ReadGroupAsync(stream, end, nextEnd, nextGroup, cancellationToken) : Task.CompletedTask;
            ExceptionDispatchInfo? failed = null;
            try
            {
                SegmentScan.Decode(_index, first, end, group, raw, ref visitor);
            }
            catch (Exception e)
            {
                failed = ExceptionDispatchInfo.Capture(e);
            }
            // Nothing is left behind that writes into a buffer which is somebody else's by then.
            await reading.ConfigureAwait(failed is null ? ConfigureAwaitOptions.None : ConfigureAwaitOptions.SuppressThrowing);
            failed?.Throw();
            if (nextEnd == end)
                return visitor;
            (first, end) = (end, nextEnd);
            (group, nextGroup) = (nextGroup, group);
        }
    }

    /// <summary>Reads the one block that holds a position: one request for its part of the blob.</summary>
    /// <param name="into">Cleared first; receives all rows of the block, by domain and alias instead of by position.</param>
    /// <exception cref="DamagedSegmentException">The block is not what was sealed. The batch is of no use then.</exception>
    /// <exception cref="ArgumentOutOfRangeException">The segment doesn't hold that position.</exception>
    public async Task ReadBlockAsync(long position, AccountBatch into, CancellationToken cancellationToken)
    {
        var block = Blocks[_index.Find(position)];
        if (into.Capacity < block.Rows)
            throw new ArgumentException($"the batch holds {into.Capacity} accounts, and the block has {block.Rows}", nameof(into));
        var bytes = _group.Get((int)(block.End - block.Offset));
        await using var stream = await OpenStreamAsync(block.Offset, block.End - block.Offset, cancellationToken);
        await ReadGroupAsync(stream, block.Number, block.Number + 1, bytes, cancellationToken);
        var visitor = new BatchVisitor(into);
        SegmentScan.Decode(_index, block.Number, block.Number + 1, bytes, _raw.Get(block.RawBytes), ref visitor);
    }

    /// <summary>Reads every byte, holds every checksum, order, count and large domain against what is written of it.</summary>
    /// <exception cref="DamagedSegmentException">Something is not what was sealed.</exception>
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
        new(
            $"segment '{name}' is not in the account log, and was expected there: restore the blob, or write it again from its load's "
            + "rows");

    private static async Task<ReadOnlyMemory<byte>> ReadAsync(
        IAccountLogBlobs blobs, string name, long offset, long length, CancellationToken cancellationToken)
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
                Name, first, Blocks[first].Offset, $"the blob ends at byte {Blocks[first].Offset + read}, and had {Length} bytes before");
    }
}
