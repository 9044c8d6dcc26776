using HibpIngest.Journal.Manifest;
using HibpIngest.Journal.Segments;

namespace HibpIngest.Pipeline.Journal;

/// <summary>
/// Writes one segment of a load from its rows, always as the same bytes, committed with one conditional request. An existing blob is
/// compared instead.
/// </summary>
public sealed class SegmentCopy(ILoadRows rows, IJournalBlobs blobs)
{
    /// <summary>Writes the segment, or checks the one that is there.</summary>
    /// <returns>Bytes of the blob.</returns>
    /// <exception cref="JournalConflictException">A different segment has that name.</exception>
    /// <exception cref="RowsMissingException">SQL has other rows than were recorded.</exception>
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
                $"'{name}' of the account log is another segment than the rows of load {load.Load} make: was the log restored, or the "
                + "database's rows changed? Move that blob away, then: hibp log write");
        }
        return seal.Length;
    }

    /// <summary>Returns the content of a segment's header.</summary>
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

    /// <summary>
    /// Whether a segment is the expected one. The breach isn't compared: the load may have been assigned to another since it was written.
    /// </summary>
    public static bool IsOf(SegmentFacts found, SegmentFacts meant) => found with { Breach = meant.Breach } == meant;

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
