using HibpIngest.Journal.Manifest;
using HibpIngest.Journal.Segments;

namespace HibpIngest.Testing;

/// <summary>A load's content in the journal, with all its rows.</summary>
/// <param name="Load">The load's number, from its folder.</param>
/// <param name="Documents">Names of its other blobs, without their folder.</param>
/// <param name="Document">The newest document that makes the load count.</param>
internal sealed record LogContent(
    long Load, JournaledState State, int Segments, IReadOnlyList<string> Documents, JournalLoadDocument? Document,
        IReadOnlyList<string> Accounts)
{
    public static async Task<IReadOnlyList<LogContent>> ReadAsync(IJournalBlobs blobs)
    {
        var contents = new List<LogContent>();
        foreach (var load in (await JournalManifest.ReadAsync(blobs, CancellationToken.None)).Loads)
        {
            var segments = load.Blobs.Where(blob => blob.Name.EndsWith(JournalNames.SegmentExtension, StringComparison.Ordinal)).ToList();
            var accounts = new List<string>();
            foreach (var segment in segments)
            {
                await using var reader = await SegmentReader.OpenAsync(blobs, segment.Name, CancellationToken.None);
                var read = await reader.ReadAsync(new CollectVisitor(), CancellationToken.None);
                accounts.AddRange(read.Rows.Select(row => $"{row.Alias}@{row.Domain}"));
            }
            contents.Add(new LogContent(
                long.Parse(load.Folder.Split('-')[0]), load.State, segments.Count,
                [.. load.Blobs.Except(segments).Select(blob => blob.Name[load.Folder.Length..])], load.Document, accounts));
        }
        return contents;
    }
}
