using HibpIngest.Journal.Segments;

namespace HibpIngest.Tests.Journal;

/// <summary>Tests the segments that docs/journal.md shows, byte by byte.</summary>
public sealed class SegmentVectorTests
{
    private const string Document = "docs/journal.md";

    /// <summary>The two slices (numbers 3 and 4) that the document shows.</summary>
    private static readonly (string Domain, string Alias)[][] Slices =
    [
        [("mail.example.com", "bob"), ("example.com", "anna"), ("example.com", "annabelle.longer-1"), ("example.com", "anna")],
        [("example.org", "an.alias.of.30.characters.or.so"), ("example.org", "an.alias.of.30.characters")],
    ];

    [Fact]
    public async Task Documented_segment_and_its_payload_are_written_and_read_byte_for_byte()
    {
        var shown = Bytes(Snippet(0));
        var (written, _) = await SegmentSamples.WriteAsync([.. Slices.SelectMany(rows => rows)], sliceRows: 4, first: 9, slice: 3);
        Assert.Equal(Convert.ToHexString(shown), Convert.ToHexString(written));

        var segment = SegmentBytes.Open("shown", shown);
        segment.Verify();
        var found = new CollectVisitor();
        segment.Read(ref found);
        Assert.Equal(Slices.SelectMany(rows => rows.Order()), found.Rows);
        Assert.Equal([BlockCodec.Lz4, BlockCodec.None], segment.Index.BlockList.Select(block => (BlockCodec)shown[block.Offset + 32]));

        var block = segment.Index.Blocks[0];
        var raw = new byte[block.RawBytes];
        Assert.True(Lz4Block.TryDecompress(shown.AsSpan((int)block.Offset + 40, block.StoredBytes), raw));
        Assert.Equal(Convert.ToHexString(Bytes(Snippet(1))), Convert.ToHexString(raw));
    }

    [Fact]
    public void Documented_checksums_varints_and_lz4_examples_are_correct()
    {
        var rows = Patterns.Find(DocumentFiles.Read(Document), @"^\| [^|]+ \| `[0-9A-F]+` \|$")
            .Select(row => row.Split('|', StringSplitOptions.TrimEntries)).ToDictionary(cells => cells[1], cells => cells[2].Trim('`'));
        Assert.Equal("E3069283", rows["CRC32C of `123456789`"]);
        Assert.Equal(rows["CRC32C of `123456789`"], Crc32C.Compute("123456789"u8).ToString("X8"));
        foreach (var number in new[] { 0, 127, 128, 1_000, int.MaxValue })
        {
            var bytes = new byte[5];
            var length = Varint.Write(bytes, number);
            Assert.Equal(rows[$"varint of {number}"], Convert.ToHexString(bytes, 0, length));
            var at = 0;
            Assert.True(Varint.TryRead(bytes.AsSpan(0, length), ref at, out var read));
            Assert.Equal((number, length), (read, at));
        }
        foreach (var bad in new[] { "", "80", "8000", "FFFFFFFF0F", "808080808000", "FFFFFFFFFF" })
        {
            var at = 0;
            Assert.False(Varint.TryRead(Convert.FromHexString(bad), ref at, out _), bad);
        }
        var decoded = new byte[24];
        Assert.True(Lz4Block.TryDecompress(Convert.FromHexString(rows["LZ4 of `A` 19 times and `bcdef`"]), decoded));
        Assert.Equal(new string('A', 19) + "bcdef", Encoding.ASCII.GetString(decoded));
    }

    private static string Snippet(int number) => DocumentFiles.Snippets(Document, "hex").ElementAt(number);

    /// <summary>Returns the bytes before the semicolons.</summary>
    private static byte[] Bytes(string snippet) => Convert.FromHexString(
        string.Concat(snippet.Split('\n').Select(line => line.Split(';')[0].Replace(" ", "", StringComparison.Ordinal))));
}
