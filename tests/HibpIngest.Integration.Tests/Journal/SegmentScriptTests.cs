using HibpIngest.Journal.Segments;

namespace HibpIngest.Integration.Tests.Journal;

/// <summary>Tests that segments can be read by a script written from docs/journal.md alone.</summary>
public sealed class SegmentScriptTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData(BlockCodec.None)]
    [InlineData(BlockCodec.Lz4)]
    [InlineData(BlockCodec.Brotli)]
    public async Task Script_reads_written_segments(BlockCodec codec)
    {
        var random = new Random(41);
        var rows = SegmentSamples.Rows(random, 3_000);
        rows.AddRange(
            Enumerable.Range(0, 2_000).Select(i => (i % 2 == 0 ? "large.example" : "other.example", $"name{random.Next(1_500)}")));
        var facts = SegmentSamples.Facts(501, 500 + rows.Count, sliceRows: 700);
        var (bytes, _) = await SegmentSamples.WriteAsync(rows, 700, codec, 501, facts);
        var (output, error) = await RunAsync(bytes);
        Assert.Equal("", error);
        var lines = output.TrimEnd('\n').Split('\n');
        var expected = rows.Chunk(700).SelectMany((slice, number) => SegmentSamples.Expected(slice, 700)
            .Select(row => $"{number + 5}\t{row.Domain}\t{row.Alias}"));
        Assert.Equal(expected, lines[1..]);
        using var said = JsonDocument.Parse(lines[0]);
        Assert.Equal(
            JsonSerializer.Serialize(new
            {
                store = facts.Store,
                load = facts.Load.Value,
                mark = facts.Mark,
                breach = facts.Breach,
                blob = facts.Blob.Name,
                etag = facts.Blob.ETag,
                generation = facts.Generation,
                startedAt = "2026-03-01T12:34:56.789Z",
                extractor = facts.ExtractorVersion,
                batchRows = facts.BatchRows,
                sliceRows = facts.SliceRows,
                first = facts.First,
                last = facts.Last,
                blocks = 8,
                large = new Dictionary<string, int> { ["large.example"] = 1_000, ["other.example"] = 1_000 },
            }),
            JsonSerializer.Serialize(said.RootElement));
    }

    [Fact]
    public async Task Script_rejects_damaged_segments_as_the_reader_does()
    {
        var (bytes, _) = await SegmentSamples.WriteAsync(SegmentSamples.Rows(new Random(42), 50), 20);
        var random = new Random(43);
        for (var i = 0; i < 12; i++)
        {
            var damaged = bytes.ToArray();
            damaged[random.Next(bytes.Length)] ^= (byte)(1 << random.Next(8));
            Assert.Throws<DamagedSegmentException>(() => SegmentBytes.Open("a", damaged).Verify());
            var (output, error) = await RunAsync(damaged);
            Assert.Equal("", output);
            Assert.NotEqual("", error);
        }
    }

    private async Task<(string Output, string Error)> RunAsync(byte[] segment)
    {
        var node = await new ProcessStartInfo(
            "node",
            [RepositoryFile.Path("tests/HibpIngest.Integration.Tests/Journal/segment-reader.mjs"), _folder.Write("1.alog", segment)])
            .RunToEndAsync();
        Assert.Equal(node.Error.Length == 0 ? 0 : 1, node.ExitCode);
        return (node.Output, node.Error);
    }
}
