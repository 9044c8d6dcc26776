using HibpIngest.Journal.Manifest;

namespace HibpIngest.Journal.Merge;

/// <summary>The rows of a load in the journal.</summary>
/// <param name="load">The load's number, which each segment must name, as well as its mark.</param>
/// <param name="segments">Names of the segments, in order.</param>
public sealed class SegmentSource(IJournalBlobs blobs, long load, int mark, IReadOnlyList<string> segments) : IMergeSource
{
    /// <param name="load">A load that counts.</param>
    public static SegmentSource Of(IJournalBlobs blobs, JournaledLoad load) => new(
        blobs, load.Document!.Load, load.Document.Mark,
        [.. load.Document.Segments.Select(segment => JournalNames.Segment(load.Folder, segment.First))]);

    public long Rows { get; private set; }

    public async Task<IReadOnlyList<LargeDomain>> FindLargeDomainsAsync(CancellationToken cancellationToken)
    {
        var large = new List<LargeDomain>();
        Rows = 0;
        foreach (var name in segments)
        {
            await using var reader = await OpenAsync(name, cancellationToken);
            large.AddRange(reader.LargeDomains);
            Rows += reader.Rows;
        }
        return large;
    }

    public async Task ReadAsync<T>(T visitor, Action<long> progress, CancellationToken cancellationToken)
        where T : struct, IAccountVisitor
    {
        foreach (var name in segments)
        {
            await using var reader = await OpenAsync(name, cancellationToken);
            await reader.ReadAsync(visitor, cancellationToken);
            progress(reader.Rows);
        }
    }

    private async Task<SegmentReader> OpenAsync(string name, CancellationToken cancellationToken)
    {
        var reader = await SegmentReader.OpenAsync(blobs, name, cancellationToken);
        if (reader.Facts.Load == load && reader.Facts.Mark == mark)
            return reader;
        var facts = reader.Facts;
        await reader.DisposeAsync();
        throw new DamagedSegmentException(name, null, 0, $"it is of load {facts.Load} with mark {facts.Mark}, not of {load} with {mark}");
    }
}
