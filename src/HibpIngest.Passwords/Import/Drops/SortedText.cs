using System.Runtime.CompilerServices;

namespace HibpIngest.Passwords.Import.Drops;

/// <summary>
/// Finds where each group of hashes (those with the same first two hex digits) begins in a sorted text, by binary search over samples.
/// <see cref="SortedPiece"/> verifies the order.
/// </summary>
internal sealed class SortedText(DropReader text)
{
    // A section of at most this size is read whole: a bisection step would cost one request as well.
    private const int WindowBytes = 256 << 10;

    // Bytes read per bisection step: at least one whole line, wherever it starts.
    private const int SampleBytes = 8 << 10;

    // Reads run concurrently, because latency dominates their duration.
    private const int MaxConcurrentReads = 16;

    private readonly SemaphoreSlim _reads = new(MaxConcurrentReads);

    /// <returns>The first byte of each group's lines, and, last, the text's length.</returns>
    public async Task<long[]> LocateAsync(CancellationToken cancellationToken)
    {
        var offsets = new long[PasswordNames.Groups + 1];
        offsets[^1] = text.Length;
        await FillAsync(offsets, 0, PasswordNames.Groups, cancellationToken);
        return offsets;
    }

    private async Task FillAsync(long[] offsets, int first, int end, CancellationToken cancellationToken)
    {
        if (end - first < 2)
            return;
        var (begin, stop) = (offsets[first], offsets[end]);
        if (stop - begin <= WindowBytes)
        {
            var next = first + 1;
            await foreach (var (start, group) in LinesAsync(begin, stop, WindowBytes, cancellationToken))
            {
                while (next < end && next <= group)
                    offsets[next++] = start;
            }
            while (next < end)
                offsets[next++] = stop;
            return;
        }
        var middle = (first + end) / 2;
        offsets[middle] = await BisectAsync(middle, begin, stop, cancellationToken);
        await Task.WhenAll(FillAsync(offsets, first, middle, cancellationToken), FillAsync(offsets, middle, end, cancellationToken));
    }

    /// <summary>Returns the start of the first line that belongs to a group or a later one, between two known line starts.</summary>
    private async Task<long> BisectAsync(int group, long begin, long stop, CancellationToken cancellationToken)
    {
        var (found, top) = (stop, stop);
        while (top - begin > WindowBytes)
        {
            var middle = begin + ((top - begin) / 2);
            var line = await FirstAfterAsync(middle, top, cancellationToken);
            if (line is null)
                top = middle;
            else if (line.Value.Group >= group)
                (found, top) = (line.Value.Start, middle);
            else
                begin = line.Value.Start;
        }
        await foreach (var (start, lineGroup) in LinesAsync(begin, found, WindowBytes, cancellationToken))
        {
            if (lineGroup >= group)
                return start;
        }
        return found;
    }

    private async Task<(long Start, int Group)?> FirstAfterAsync(long offset, long stop, CancellationToken cancellationToken)
    {
        var bytes = await ReadAsync(offset, SampleBytes, cancellationToken);
        if (LineEnds.Find(bytes.Span, offset + bytes.Length == text.Length, crEnds: true) is not { } rest)
            throw TooLong(offset);
        await foreach (var line in LinesAsync(offset + rest.WithEnd, stop, SampleBytes, cancellationToken, bytes[rest.WithEnd..]))
            return line;
        return null;
    }

    /// <param name="bytes">Bytes that were read there already.</param>
    private async IAsyncEnumerable<(long Start, int Group)> LinesAsync(
        long at, long stop, int minRead, [EnumeratorCancellation] CancellationToken cancellationToken, ReadOnlyMemory<byte> bytes = default)
    {
        while (at < stop)
        {
            var isEnd = at + bytes.Length == text.Length;
            if (LineEnds.Find(bytes.Span, isEnd, crEnds: true) is not { } line)
            {
                if (bytes.Length >= HashLines.MaxLineBytes)
                    throw TooLong(at);
                if (isEnd)
                    yield break;
                bytes = await ReadAsync(at, Math.Max(minRead, 2 * HashLines.MaxLineBytes), cancellationToken);
                continue;
            }
            if (GroupOf(bytes.Span[..line.Bytes], at) is { } group)
                yield return (at, group);
            at += line.WithEnd;
            bytes = bytes[line.WithEnd..];
        }
    }

    private int? GroupOf(ReadOnlySpan<byte> line, long at)
    {
        if (line.StartsWith(LineEnds.ByteOrderMark))
            line = line[LineEnds.ByteOrderMark.Length..];
        if (line.TrimEnd(" \t"u8).IsEmpty)
            return null;
        return line.Length >= 2 && byte.TryParse(line[..2], NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out var group)
            ? group : throw new BadInputException(Describe(at, "expected HASH:COUNT, found a line that doesn't begin with two hex digits"));
    }

    private async Task<ReadOnlyMemory<byte>> ReadAsync(long at, int maxBytes, CancellationToken cancellationToken)
    {
        await _reads.WaitAsync(cancellationToken);
        try
        {
            return await text.ReadAsync(at, maxBytes, cancellationToken);
        }
        finally
        {
            _reads.Release();
        }
    }

    private BadInputException TooLong(long at) =>
        new(Describe(at, $"expected HASH:COUNT, found a line of more than {HashLines.MaxLineBytes:N0} bytes"));

    private string Describe(long at, string problem) => SortedPiece.Describe(text.Name, at, problem);
}
