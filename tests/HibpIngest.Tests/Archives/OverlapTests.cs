using HibpIngest.Archives;
using static HibpIngest.Testing.ArchiveTesting;

namespace HibpIngest.Tests.Archives;

/// <summary>
/// Tests that overlapping entries are refused, whatever the order of their records, so that reading all entries reads
/// the archive once.
/// </summary>
public sealed class OverlapTests
{
    private const int MiB = 1 << 20;

    private static RawZip.Entry Stored(string name, string text) => new(name, Bytes(text)) { Method = 0 };

    [Fact]
    public void Entries_that_share_one_stream_are_refused_before_it_is_read()
    {
        var shared = new RawZip.Entry("empty blocks", []) { Compressed = RawZip.EmptyBlocks(8 * MiB) };
        var zip = new RawZip().Add(shared);
        for (var i = 1; i < 160; i++)
            zip.AddRecord(shared, 0);
        var archive = zip.Finish();
        using var counted = new CountingStream(archive);

        var thrown = Assert.Throws<BadArchiveException>(() =>
        {
            using var breach = BreachArchive.Open(counted, null, new ArchiveLimits());
            breach.ReadFrom(default).Count();
        });

        Assert.Equal(
            "entries 1 and 2 of 160 overlap: a zip bomb, or the archive is damaged: "
            + "drop an intact copy, or unpack it and zip its files again", thrown.Message);
        Assert.InRange(counted.BytesRead, 0, 1 * MiB);
    }

    /// <summary>
    /// Each has larger gaps between and after its entries than the overlap, so that the sizes alone don't reveal it.
    /// </summary>
    public static TheoryData<string, byte[]> Overlaps => new()
    {
        { "one entry twice", new RawZip().Add(Stored("a", "first text")).AddRecord(Stored("a", "first text"), 0).Fill(200).Finish() },
        { "another name for it", new RawZip().Add(Stored("a", "first text")).AddRecord(Stored("b", "first text"), 0).Fill(200).Finish() },
        { "one within another", new RawZip().Add(Stored("a", Inner)).AddRecord(Stored("b", "within"), 36).Fill(500).Finish() },
        { "the second's record comes first", new RawZip().AddRecord(Stored("b", "within"), 36).Add(Stored("a", Inner)).Fill(500).Finish() },
        {
            "not with its neighbour in the directory, nor outside of those before it",
            new RawZip().Add(Stored("a", Inner)).Fill(500).Add(Stored("z", "last")).AddRecord(Stored("b", "within"), 36).Finish()
        },
        { "one in another's extra field", new RawZip().Add(WithExtra("a", Inner)).AddRecord(Stored("b", "within"), 40).Fill(500).Finish() },
    };

    /// <summary>A text that contains another entry's header and data, five bytes in.</summary>
    private static string Inner => "text\n" + System.Text.Encoding.Latin1.GetString(RawZip.Of(Stored("b", "within"))[..37]);

    private static RawZip.Entry WithExtra(string name, string extra) =>
        Stored(name, "x") with { LocalExtra = Bytes($"\u0011\u0011{(char)extra.Length}\0{extra}") };

    [Theory]
    [MemberData(nameof(Overlaps))]
    public void Overlapping_entries_are_refused(string what, byte[] archive)
    {
        Assert.NotEmpty(what);
        Assert.Matches("^entries [1-3] and [1-3] of [23] overlap: a zip bomb, or the archive is damaged: ", Refusal(archive));
    }

    [Fact]
    public void Overlap_check_agrees_with_a_sorted_scan_on_random_entries()
    {
        const int Seed = 71;
        var random = new Random(Seed);
        var overlapping = 0;
        for (var round = 0; round < 3_000; round++)
        {
            // Records alone: nothing is opened.
            const int room = 2_000;
            var zip = new RawZip().Fill(room);
            var extents = new List<(int Start, int End)>();
            var entries = random.Next(1, 12);
            for (var i = 0; i < entries; i++)
            {
                var start = random.Next(room);
                var bytes = random.Next(1, round % 2 == 0 ? 300 : 60);
                zip.AddRecord(new RawZip.Entry("e", new byte[bytes]) { Method = 0 }, start);
                if (start + 30 + bytes <= room)
                    extents.Add((start, start + 30 + bytes));
            }
            if (round % 3 == 0)
                zip.Shuffle(random);
            var sorted = extents.Order().ToList();
            var expected = sorted.Zip(sorted.Skip(1)).Any(pair => pair.First.End > pair.Second.Start);
            overlapping += expected ? 1 : 0;
            using var archive = new MemoryStream(zip.Finish());
            using var directory = CentralDirectory.Find(archive, new ArchiveLimits());
            var thrown = Record.Exception(() => EntryExtents.Check(directory));
            var what = $"seed {Seed}, round {round}: {string.Join(' ', extents)} {thrown?.Message}";
            Assert.True(expected == thrown is BadArchiveException, what);
            // Beyond the entries held in memory, the sum of the rest is at most the archive's length.
            var sum = Record.Exception(() => EntryExtents.Check(directory, maxHeld: 0)) is BadArchiveException;
            Assert.True(sum || extents.Sum(one => one.End - one.Start) <= room, what);
            Assert.True(expected || !sum, what);
        }
        Assert.InRange(overlapping, 500, 2_500);
    }

    [Fact]
    public void Entry_that_extends_into_the_directory_is_refused()
    {
        var archive = RawZip.Of(Stored("a", "text") with { CentralCompressed = 50, CentralSize = 50 });
        AssertRefused("entry 1 of 1 'a': its 50 bytes of data are not within the file", archive);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Disjoint_entries_are_read_in_any_directory_order(int seed)
    {
        var random = new Random(seed);
        foreach (var prefix in (int[])[0, 17])
        {
            var zip = new RawZip();
            for (var i = 0; i < 300; i++)
            {
                zip.Fill(random.Next(3) == 0 ? random.Next(100) : 0);
                zip.Add(new RawZip.Entry($"{i}", Bytes(Lines(random.Next(5), i))) { Method = (ushort)(random.Next(2) * 8) });
            }
            byte[] ordered = [.. new byte[prefix], .. zip.Finish()];
            var expected = Read(ordered).ToDictionary(text => text.Name, text => text.Content);
            Assert.InRange(expected.Count, 200, 299);

            // Each time with a new directory after the earlier ones: bytes between entries and directory are ignored.
            foreach (var reorder in (Action[])[() => zip.Reverse(), () => zip.Shuffle(random), () => zip.Shuffle(random)])
            {
                reorder();
                byte[] archive = [.. new byte[prefix], .. zip.Finish()];
                var read = Read(archive);
                Assert.Equal(expected.Count, read.Count);
                Assert.All(read, text => Assert.Equal(expected[text.Name], text.Content));
                Assert.NotEqual(expected.Keys, read.Select(text => text.Name));
                // Also when resuming from any entry.
                var start = random.Next(300);
                Assert.Equal(read.Where(text => text.TopLevel >= start), Read(archive, new ArchivePosition(start, 0, 0), out _));
            }
        }
    }
}
