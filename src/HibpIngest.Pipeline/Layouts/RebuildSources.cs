using HibpIngest.Journal.Merge;

namespace HibpIngest.Pipeline.Layouts;

/// <summary>Finds where the rows of loads are: in the journal, or in SQL if the journal doesn't have them (yet).</summary>
public sealed class RebuildSources(IBreachDatabase database, IJournalBlobs blobs)
{
    private const int BatchRows = 20_000;

    /// <summary>Fails before anything is written if a load's rows are nowhere.</summary>
    internal async Task<IReadOnlyList<RebuildSource>> FindAsync(
        StoreLayout layout, IReadOnlyList<MissingRows> missing, CancellationToken cancellationToken)
    {
        var (sources, lost) = (new List<RebuildSource>(), new List<LoadId>());
        foreach (var (load, _) in missing)
        {
            if (await database.GetJournalEntryAsync(load, cancellationToken) is not { } entry)
                continue;
            if (entry.Segments.Count > 0 && entry.Segments.All(segment => segment.Bytes is not null))
            {
                var names = entry.Segments.Select(segment => JournalNames.Segment(JournalNames.Folder(entry), segment.First));
                var segments = new SegmentSource(blobs, load, entry.Mark, [.. names]);
                sources.Add(new RebuildSource(load, entry.Mark, entry.LastPosition, true, segments));
                continue;
            }
            var slices = await database.ListMissingSlicesAsync(layout.Id, load, cancellationToken);
            if (entry.Purged)
                lost.Add(load);
            else if (slices.Count > 0)
                sources.Add(OfRows(load, entry.Mark, slices));
        }
        return lost.Count == 0 ? sources
            : throw new NotPossibleException($"layout {layout.Name} can't be completed: SQL has purged the rows of loads "
                + $"{string.Join(", ", lost)}, and the journal doesn't have them. Drop their archives again under the same "
                + "names (hibp drop FILE --again), and run this command again when the new loads are done");
    }

    private RebuildSource OfRows(LoadId load, int mark, IReadOnlyList<(long First, long Last)> slices)
    {
        var pieces = new List<(long First, long Last)>();
        foreach (var (sliceFirst, last) in slices)
        {
            for (var first = sliceFirst; first <= last; first += BatchRows)
                pieces.Add((first, Math.Min(last, first + BatchRows - 1)));
        }
        var count = pieces.Sum(piece => piece.Last - piece.First + 1);
        return new RebuildSource(load, mark, count, false, new BatchSource(count, pieces.Count, BatchRows, async (number, into, token) =>
        {
            var (first, last) = pieces[number];
            await database.ReadRowsAsync(load, first, last, into, token);
            if (into.Count != last - first + 1)
            {
                throw new NotPossibleException(
                    $"SQL has {into.Count} of rows {first} to {last} of load {load}: if the others were purged during the "
                    + "rebuild, run the command again");
            }
        }));
    }
}

internal sealed record RebuildSource(LoadId Load, int Mark, long Rows, bool IsJournaled, IMergeSource Merged);
