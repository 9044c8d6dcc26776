namespace HibpIngest.Journal.Segments;

/// <summary>
/// Writes a segment: header, a block per slice, and footer. The output is the same for the same rows and the same version of the codec's
/// library. Not thread-safe.
/// </summary>
public sealed class SegmentWriter : IDisposable
{
    private readonly Stream _output;
    private readonly SegmentFacts _facts;
    private readonly byte[] _header;
    private readonly BlockEncoder _encoder;
    private readonly DomainCounts _domains = new();
    private readonly List<SegmentBlock> _blocks = [];
    private long _next;
    private long _length;

    /// <param name="output">Written forward from its position; the caller closes it.</param>
    /// <exception cref="BadInputException">The facts are invalid.</exception>
    public SegmentWriter(Stream output, SegmentFacts facts, BlockCodec codec = BlockCodec.Lz4)
    {
        if (codec > BlockCodec.Brotli)
            throw new ArgumentOutOfRangeException(nameof(codec));
        (_output, _facts, _header, _encoder, _next) = (output, facts, SegmentHeader.Write(facts), new BlockEncoder(codec), facts.First);
    }

    /// <summary>Adds a slice's rows as a block. The batch isn't changed, and may be reused.</summary>
    /// <param name="slice">The slice's number within the load: the previous one plus 1.</param>
    /// <param name="rows">All rows of the slice, in any order; they must begin at the segment's next position.</param>
    /// <param name="cancellationToken">Stops the write; the segment is then unusable.</param>
    /// <exception cref="BadInputException">The rows are not the next ones of the segment.</exception>
    public async ValueTask AddAsync(int slice, AccountBatch rows, CancellationToken cancellationToken)
    {
        var expectedSlice = _blocks.Count == 0 ? Math.Max(slice, 1) : _blocks[^1].Slice + 1;
        if (slice != expectedSlice || rows.FirstPosition != _next || rows.LastPosition > _facts.Last)
            throw new BadInputException(
                $"load {_facts.Load}: expected slice {expectedSlice} from position {_next}, ending by position {_facts.Last}, found slice "
                + $"{slice} with positions {rows.FirstPosition} to {rows.LastPosition}");
        if (rows.Count < 1 || rows.Count > _facts.SliceRows || _blocks.Count == SegmentLimits.Blocks)
            throw new BadInputException(
                $"load {_facts.Load}: expected 1 to {_facts.SliceRows} rows in a slice and at most {SegmentLimits.Blocks} blocks in a "
                + $"segment; slice {slice} has {rows.Count} rows and is block {_blocks.Count}");
        if (_length == 0)
            await WriteAsync(_header, cancellationToken);
        var place = new SegmentBlock(_blocks.Count, slice, _length, 0, 0, 0, 0, 0);
        await WriteAsync(_encoder.Encode(place, rows, _domains, out var block), cancellationToken);
        _blocks.Add(block);
        _next += rows.Count;
    }

    /// <summary>Writes the footer, which completes the segment.</summary>
    /// <exception cref="BadInputException">Rows are missing.</exception>
    public async Task<SegmentSeal> SealAsync(CancellationToken cancellationToken)
    {
        if (_next != _facts.Last + 1)
            throw new BadInputException(
                $"a segment of load {_facts.Load} can't be sealed: it has positions {_facts.First} to {_next - 1}, expected all "
                + $"up to {_facts.Last}");
        var footer = SegmentIndex.Write(_header, _blocks, _domains.List());
        await WriteAsync(footer, cancellationToken);
        await _output.FlushAsync(cancellationToken);
        return new SegmentSeal(_header, footer, _length, _facts.Rows, _blocks.Count);
    }

    public void Dispose() => _encoder.Dispose();

    private async ValueTask WriteAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken)
    {
        await _output.WriteAsync(bytes, cancellationToken);
        _length += bytes.Length;
    }
}

/// <summary>A finished segment. Equal header and footer mean equal segments: the footer holds every block's checksum.</summary>
public sealed record SegmentSeal(ReadOnlyMemory<byte> Header, ReadOnlyMemory<byte> Footer, long Length, long Rows, int Blocks);
