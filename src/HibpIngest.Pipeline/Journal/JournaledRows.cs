namespace HibpIngest.Pipeline.Journal;

/// <summary>Reads a slice's rows from SQL or, once they are purged, from the slice's block in the journal.</summary>
public sealed class JournaledRows(ILoadRows rows, IJournalBlobs blobs)
{
    /// <summary>Fills <paramref name="into"/> (cleared first) with the rows of the slice. The journal has them in another order.</summary>
    /// <param name="purged">True if some or all of the load's rows are purged.</param>
    public async Task ReadAsync(Slice slice, int mark, bool purged, AccountBatch into, CancellationToken cancellationToken)
    {
        if (purged)
            await ReadSegmentAsync(slice, mark, into, cancellationToken);
        else
            await rows.ReadRowsAsync(slice.Load, slice.First, slice.Last, into, cancellationToken);
        if (into.Count != slice.Count)
            throw new RowsMissingException(slice, into.Count);
    }

    private async Task ReadSegmentAsync(Slice slice, int mark, AccountBatch into, CancellationToken cancellationToken)
    {
        var load = await rows.GetJournalEntryAsync(slice.Load, cancellationToken);
        var segment = load?.Segments.FirstOrDefault(one => one.First <= slice.First && slice.Last <= one.Last)
            ?? throw new NotPossibleException(
                $"the rows of load {slice.Load} are purged, and the journal has no segment of slice {slice.Number}: drop its archive "
                + "again under the same name (hibp drop FILE --again)");
        await using var reader = await SegmentReader.OpenAsync(
            blobs, JournalNames.Segment(JournalNames.Folder(load), segment.First), cancellationToken);
        await reader.ReadBlockAsync(slice.First, into, cancellationToken);
        if (reader.Facts.Load != slice.Load || reader.Facts.Mark != mark || into.FirstPosition != slice.First)
        {
            throw new JournalConflictException(
                $"the journal has another load's rows instead of load {slice.Load}'s: see hibp journal verify");
        }
    }
}

/// <summary>
/// SQL or the journal returned another number of rows than the slice recorded. Nothing was upserted, because a slice upserted in part would
/// count as complete.
/// </summary>
public sealed class RowsMissingException(Slice slice, int found)
    : HibpException(
        $"slice {slice.Number} of load {slice.Load} recorded {slice.Count} rows at positions {slice.First} to {slice.Last}, found {found}");
