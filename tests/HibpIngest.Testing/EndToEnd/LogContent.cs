using HibpIngest.Journal.Manifest;
using HibpIngest.Journal.Segments;

namespace HibpIngest.Testing;

/// <summary>A load's content in the journal, with all its rows.</summary>
/// <param name="Load">The load's number, from its folder.</param>
/// <param name="State">Whether and how it can be used.</param>
/// <param name="Segments">Number of segments.</param>
/// <param name="Documents">Names of its other blobs, without their folder.</param>
/// <param name="Document">The newest document that makes the load count.</param>
/// <param name="Accounts">The accounts of its rows.</param>
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
                await reader.ReadAsync(new Collector(accounts), CancellationToken.None);
            }
            contents.Add(new LogContent(
                long.Parse(load.Folder.Split('-')[0]), load.State, segments.Count,
                [.. load.Blobs.Except(segments).Select(blob => blob.Name[load.Folder.Length..])], load.Document, accounts));
        }
        return contents;
    }

    private readonly struct Collector(List<string> into) : IAccountVisitor
    {
        public void BeginBlock(in SegmentBlock block)
        {
        }

        public void BeginDomain(ReadOnlySpan<byte> domain, int rows)
        {
        }

        public void Account(ReadOnlySpan<byte> alias, ReadOnlySpan<byte> domain) =>
            into.Add($"{Encoding.ASCII.GetString(alias)}@{Encoding.ASCII.GetString(domain)}");
    }
}
