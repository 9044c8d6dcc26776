namespace HibpIngest.Pipeline.Journal;

/// <summary>Writes a segment of a load, always as the same bytes, with one conditional request; compares an existing blob.</summary>
public sealed class SegmentCopy(ILoadRows rows, IJournalBlobs blobs)
{
    /// <returns>Bytes of the blob.</returns>
    public async Task<long> WriteAsync(
        JournalEntry load, Guid store, JournalSegment segment, IReadOnlyList<Slice> slices, CancellationToken cancellationToken)
    {
        var name = JournalNames.Segment(JournalNames.Folder(load), segment.First);
        var facts = Facts(load, store, segment);
        SegmentSeal seal;
        if (await blobs.FindAsync(name, cancellationToken) is not null)
            seal = await ProduceAsync(facts, slices, Stream.Null, cancellationToken);
        else
        {
            (seal, var created) = await SegmentUpload.RunAsync(
                blobs, name, (output, token) => ProduceAsync(facts, slices, output, token), cancellationToken);
            if (created)
                return seal.Length;
        }
        await using var there = await SegmentReader.OpenAsync(blobs, name, cancellationToken);
        if (!IsOf(there.Facts, facts) || !there.FooterBytes.Span.SequenceEqual(seal.Footer.Span))
        {
            throw new JournalConflictException(
                $"'{name}' of the journal differs from the rows of load {load.Load}: was the journal restored, or were the "
                + "database's rows changed? Move that blob away, then run: hibp journal write");
        }
        return seal.Length;
    }

    public static SegmentFacts Facts(JournalEntry load, Guid store, JournalSegment segment) => new()
    {
        Store = store,
        Load = load.Load,
        Mark = load.Mark,
        Blob = load.Blob,
        Generation = load.Generation,
        StartedAt = load.StartedAt,
        Breach = load.Breach.Name,
        ExtractorVersion = load.Settings.ExtractorVersion,
        BatchRows = load.Settings.BatchRows,
        SliceRows = load.Settings.SliceRows,
        First = segment.First,
        Last = segment.Last,
    };

    // The breach isn't compared: the load may have been assigned to another since the segment was written.
    public static bool IsOf(SegmentFacts found, SegmentFacts expected) => found with { Breach = expected.Breach } == expected;

    private async Task<SegmentSeal> ProduceAsync(
        SegmentFacts facts, IReadOnlyList<Slice> slices, Stream output, CancellationToken cancellationToken)
    {
        using var writer = new SegmentWriter(output, facts);
        var batch = new AccountBatch(facts.SliceRows);
        foreach (var slice in slices.Where(slice => slice.First >= facts.First && slice.Last <= facts.Last))
        {
            await rows.ReadRowsAsync(slice.Load, slice.First, slice.Last, batch, cancellationToken);
            if (batch.Count != slice.Count)
                throw new RowsMissingException(slice, batch.Count);
            await writer.AddAsync(slice.Number, batch, cancellationToken);
        }
        return await writer.SealAsync(cancellationToken);
    }
}

/// <summary>The journal holds something other than expected; nothing in it was changed.</summary>
public sealed class JournalConflictException(string message) : HibpException(message);
