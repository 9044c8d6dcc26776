using System.Formats.Tar;
using HibpIngest.Archives;
using static HibpIngest.Testing.ArchiveTesting;

namespace HibpIngest.Tests.Archives;

/// <summary>Tests formats other than zip: read completely and in order, resumed from every entry, or refused.</summary>
public sealed class FormatTests
{
    [Theory]
    [InlineData(TarEntryFormat.V7)]
    [InlineData(TarEntryFormat.Ustar)]
    [InlineData(TarEntryFormat.Pax)]
    [InlineData(TarEntryFormat.Gnu)]
    public void Tar_of_every_format_is_read(TarEntryFormat format)
    {
        var (text, deep) = (Lines(20_000, 1), new string('d', 60) + "/" + new string('e', 30) + "/f.csv");
        // Lengths around a block's, where padding errors are likely.
        var tar = Tar(
            format, ("a.csv", Bytes(text)), ("dir/", []), ("empty", []), (deep, Bytes(text[..512])), ("b", Bytes(text[..511])),
            ("c", Bytes(text[..513])));
        foreach (var (name, file) in new[] { ("a.tar", tar), ("a.tar.gz", Gzip(tar)), ("A.TGZ", Gzip(tar)) })
        {
            var read = Read(file, default, out var end, name: name);
            Assert.Equal([new(0, "a.csv", text), new(3, deep, text[..512]), new(4, "b", text[..511]), new(5, "c", text[..513])], read);
            Assert.Equal((6, 6), (end.Entry, end.EntriesOpened));
        }
    }

    [Fact]
    public void Long_tar_name_is_redacted_and_shortened_in_pax_and_gnu_format()
    {
        var name = string.Concat(Enumerable.Repeat("folder/", 40)) + "somebody@example.com.csv";
        foreach (var format in new[] { TarEntryFormat.Pax, TarEntryFormat.Gnu })
        {
            var shown = Assert.Single(Read(Tar(format, (name, Bytes("text"))), name: "a.tar")).Name;
            Assert.EndsWith("folder/[address]", shown, StringComparison.Ordinal);
            Assert.Equal(EntryName.MaxPath, shown.Length);
        }
    }

    [Fact]
    public void Tar_links_and_other_non_files_are_counted_and_skipped()
    {
        var tar = new RawTar()
            .Add("hard", [], '1', change: header => "/etc/passwd"u8.CopyTo(header.AsSpan(157)))
            .Add("soft", [], '2', size: "00000001000\0", change: header => "../../etc/passwd"u8.CopyTo(header.AsSpan(157)))
            .Add("device", [], '3').Add("dir", [], '5').Add("pipe", [], '6').Add("volume", [], 'V')
            .Add("list of a folder", Bytes("Ya@b.com\0"), 'D')
            .Add("global", Bytes("30 comment=nobody@example.com\n"), 'g')
            .Add("../../../etc/cron.d/x", Bytes("one"))
            .Add("unknown", Bytes("two"), 'Q')
            .Add("old", Bytes("three"), '\0')
            .Finish();
        var read = Read(tar, default, out var end, name: "a.tar");
        Assert.Equal([(7, "one"), (8, "two"), (9, "three")], read.Select(text => (text.TopLevel, text.Content)));
        Assert.Equal(10, end.EntriesOpened);
    }

    [Fact]
    public void Sparse_file_is_read_without_its_holes()
    {
        // GNU sparse format: a map of four in the header, further blocks of it after it, then the data outside the holes.
        var map = new byte[512];
        map[504] = 1;
        var tar = new RawTar()
            .Add("sparse", [], 'S', size: "00000000006\0", change: header => header[482] = 1)
            .Block(map).Block(new byte[512]).Block(Bytes("sparse"))
            .Add("next", Bytes("next")).Finish();
        Assert.Equal([new(0, "sparse", "sparse"), new(1, "next", "next")], Read(tar, name: "a.tar"));
        AssertRefused(
            "cut off within the map of a sparse file",
            new RawTar().Add("sparse", [], 'S', change: header => header[482] = 1).Finish()[..512], name: "a.tar");
    }

    [Fact]
    public void Tar_sizes_are_read_as_octal_binary_or_from_an_extended_header()
    {
        var tar = new RawTar()
            .Add("binary", Bytes("12345"), size: "\u0080\0\0\0\0\0\0\0\0\0\0\u0005")
            .Add("blanks", Bytes("123"), size: "         3 \0")
            .Add("", Bytes("9 size=2\n"), 'x').Add("extended", Bytes("ab"), size: "00000000000\0")
            .Finish();
        Assert.Equal([(0, "12345"), (1, "123"), (2, "ab")], Read(tar, name: "a.tar").Select(text => (text.TopLevel, text.Content)));
    }

    public static TheoryData<string, byte[]> BadTars => new()
    {
        { "it ends without a tar's end mark", new RawTar().Add("a", Bytes("text")).Finish()[..1024] },
        { "bytes of a file in it", new RawTar().Add("a", Bytes("text"), size: "77777777777\0").Finish() },
        { "a header in it has an invalid size", new RawTar().Add("a", [], size: "9\0").Finish() },
        { "a header in it has an invalid size", new RawTar().Add("a", [], size: new string('\u00FF', 12)).Finish() },
        { "a header in it has an invalid size", new RawTar().Add("a", [], size: "\u0080\0\0\u0001\0\0\0\0\0\0\0\0").Finish() },
        { "expected a header, found other data", new RawTar().Add("a", Bytes("text")).Block(Bytes("no header")).Finish() },
        { "cut off within a header", new RawTar().Add("a", []).Add("b", []).Finish()[..1000] },
        { "an extended header in it has 8,589,934,591 bytes, expected at most 1,048,576", new RawTar().Add(
            "a", [], 'x', size: "77777777777\0").Finish() },
        { "an extended header in it has 8,589,934,591 bytes", new RawTar().Add("a", [], 'L', size: "77777777777\0").Finish() },
        { "cut off within an extended header", new RawTar().Add("a", [], 'x', size: "00000100000\0").Finish() },
        { "an extended header in it can't be read", new RawTar().Add("a", Bytes("99 size=1\n"), 'x').Finish() },
        { "an extended header in it can't be read", new RawTar().Add("a", Bytes("size=1\n"), 'x').Finish() },
        { "has an invalid size", new RawTar().Add("a", Bytes("10 size=-1\n"), 'x').Finish() },
        { "cut off within a file", new RawTar().Add("a", [], 'g', size: "77777777777\0").Finish() },
        { "part of it is in another volume", new RawTar().Add("a", Bytes("text"), 'M').Finish() },
    };

    [Theory]
    [MemberData(nameof(BadTars))]
    public void Invalid_tar_is_refused_with_the_reason(string reason, byte[] tar)
    {
        AssertRefused(reason, tar, name: "dir/a.tar");
        Assert.StartsWith("'a.tar': ", Refusal(tar, name: "dir/a.tar"), StringComparison.Ordinal);
        // Reading forward, there is no length to compare with: missing data is detected only when it is reached.
        AssertRefused(reason.Contains("bytes of a file in it", StringComparison.Ordinal) ? "cut off" : reason, Gzip(tar), name: "a.tgz");
        AssertRefused(": ", Zip(true, ("t", tar)));
    }

    [Fact]
    public void Concatenated_tars_are_read_as_one_and_other_trailing_data_is_refused()
    {
        byte[] two = [.. Tar(("a", Bytes("a"))), .. new byte[8192], .. Tar(("b", Bytes("b"))), .. new byte[100]];
        Assert.Equal([new(0, "a", "a"), new(1, "b", "b")], Read(two, name: "a.tar"));
        AssertRefused("expected a header", [.. two, .. new byte[412], .. Bytes(Lines(100, 1))], name: "a.tar");
    }

    [Fact]
    public void Every_truncation_of_a_tar_is_refused()
    {
        var tar = Tar(("a", Bytes(Lines(20, 1))), ("b", Bytes("b")));
        var last = tar.AsSpan().LastIndexOfAnyExcept((byte)0);
        for (var length = 0; length <= last; length += 7)
        {
            Refusal(tar[..length], name: "a.tar");
            Refusal(Gzip(tar[..length]), name: "a.tar.gz");
        }
        var gzip = Gzip(tar);
        for (var length = 0; length < gzip.Length; length++)
            Refusal(gzip[..length], name: "a.tar.gz");
    }

    [Fact]
    public void Nested_archives_of_every_format_are_opened_and_counted()
    {
        var tar = Tar(("x.csv", Bytes("in tar")), ("y.gz", Gzip(Bytes("in gzip in tar"))));
        var zip = Zip(false, ("t", tar), ("i", Bytes("in zip")));
        var all = Tar(("t.tar", tar), ("t.tar.gz", Gzip(tar)), ("z.zip", zip), ("b", Bytes("b")));
        string[] expected = ["in tar", "in gzip in tar", "in tar", "in gzip in tar", "in tar", "in gzip in tar", "in zip", "b"];
        (string Name, byte[] File)[] files =
        [
            ("a.tar", all), ("a.tar.gz", Gzip(all)), ("a.gz", Gzip(all)), ("a.zip", Zip(true, ("all", all))),
            ("a.json.gz", Gzip(Gzip(all))),
        ];
        foreach (var (name, file) in files)
        {
            Assert.Equal(expected, Read(file, name: name, limits: new() { MaxNesting = 5 }).Select(text => text.Content));
            AssertRefused("limit MaxNesting", file, name: name, limits: new() { MaxNesting = 1 });
            AssertRefused("limit MaxEntries", file, name: name, limits: new() { MaxNesting = 5, MaxEntries = 7 });
        }
    }

    [Fact]
    public void Load_started_before_tar_support_reads_a_nested_tar_as_text()
    {
        var tar = Tar(TarEntryFormat.Ustar, ("somebody@example.com", Bytes("text")));
        using var zip = BreachFile.Open(new MemoryStream(Zip(true, ("t", tar))), "a.zip", null, new ArchiveLimits(), opensTars: false);
        var texts = zip.ReadFrom(default).Select(text => new StreamReader(text.Content).ReadToEnd()).ToList();
        Assert.Contains("somebody@example.com", Assert.Single(texts), StringComparison.Ordinal);
    }

    [Fact]
    public void Bombs_are_refused_and_tar_content_is_counted_once()
    {
        var noise = new byte[1 << 20];
        new Random(1).NextBytes(noise);
        var bomb = Gzip(Tar(("a", new byte[64 << 20])));
        AssertRefused(
            "limit MaxInflationRatio", bomb, name: "a.tar.gz", limits: new() { RatioGraceBytes = 1 << 20, MaxInflationRatio = 50 });
        AssertRefused("limit MaxInflatedBytes", bomb, name: "a.gz", limits: new() { MaxInflatedBytes = 1 << 20 });
        // A tar's content is inflated and counted only once.
        var limits = new ArchiveLimits { MaxInflatedBytes = noise.Length + 4096 };
        Assert.Single(Read(Gzip(Tar(("a", noise))), name: "a.tar.gz", limits: limits));
        Assert.Single(Read(Tar(("a", noise)), name: "a.tar", limits: limits));
        AssertRefused(
            "limit MaxEntries", Gzip(Tar([.. Enumerable.Repeat(("empty", Array.Empty<byte>()), 2000)])), name: "a.tgz",
            limits: new() { MaxEntries = 1999 });
    }

    [Theory]
    [InlineData("a.tar")]
    [InlineData("a.tar.gz")]
    [InlineData("a.gz")]
    public void Resuming_at_any_entry_gives_the_same_texts_and_counts(string name)
    {
        var tar = Tar(
            ("a", Bytes(Lines(1_000, 8))), ("dir/", []), ("n", Zip(true, ("x", Bytes(Lines(300, 6))), ("y", Gzip(Bytes("y"))))),
            (new string('b', 150), Bytes("b")), ("g", Gzip(Bytes(Lines(50, 7)))), ("empty", []), ("c", Bytes("c")));
        AssertResumes(name == "a.tar" ? tar : Gzip(tar), name, name == "a.gz" ? [0] : [0, 2, 3, 4, 6]);
    }

    [Fact]
    public void Resume_skips_earlier_tar_entries_without_reading_them()
    {
        var tar = Tar(("a", new byte[1 << 20]), ("b", new byte[1 << 20]), ("c", Bytes("c")));
        using var stream = new CountingStream(tar);
        using var file = BreachFile.Open(stream, "a.tar", null, new ArchiveLimits(), opensTars: true);
        Assert.Equal(["c"], file.ReadFrom(new ArchivePosition(2, 2 << 20, 2)).Select(text => text.DisplayName));
        Assert.InRange(stream.BytesRead, 512, 16 << 10);
    }

    [Theory]
    [InlineData("utf-8")]
    [InlineData("utf-16")]
    [InlineData("utf-16BE")]
    public void Text_is_read_in_parts_that_end_at_a_line(string encoding)
    {
        var encoder = Encoding.GetEncoding(encoding);
        var lines = Lines(3_000, 9) + new string('x', 5_000) + "\n" + Lines(100, 10) + "somebody@example.com";
        byte[] bytes = [.. encoder.GetPreamble(), .. encoder.GetBytes(lines)];
        const int PartBytes = 4096;
        var whole = CollectingSink.Scan(bytes).Accounts;
        var (all, positions, end) = ReadParts(bytes, default, PartBytes);
        Assert.Equal(whole, all);
        Assert.InRange(positions.Count, bytes.Length / PartBytes / 2, (bytes.Length / PartBytes) + 1);
        foreach (var (index, position) in positions.Index())
        {
            var (rest, _, sameEnd) = ReadParts(bytes, position, PartBytes);
            Assert.Equal(all.TakeLast(rest.Count), rest);
            Assert.Equal(end, sameEnd);
            Assert.True(index == 0 || rest.Count < all.Count);
        }
        Assert.Equal(bytes.Length + (encoding == "utf-8" ? 0 : 2 * (positions.Count - 1)), end.InflatedBytes);
    }

    [Theory]
    [InlineData("no line feed at all, and longer than any part", false)]
    [InlineData("\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", true)]
    public void Text_without_line_feeds_is_one_part_and_line_feeds_alone_are_several(string text, bool many)
    {
        var (all, positions, end) = ReadParts(Bytes(text), default, 4);
        Assert.Empty(all);
        Assert.Equal(many ? 5 : 1, positions.Count);
        Assert.Equal(text.Length, end.InflatedBytes);
    }

    public static TheoryData<string, byte[], string> MislabelledFiles => new()
    {
        { "a.csv", Zip(true, ("a", [1])), "is not a text, as its name says: found a zip archive" },
        { "a.txt", Gzip([1]), "found a gzip file" },
        { "a.sql", Tar(("a", [1])), "found a tar archive" },
        { "a.sql", [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00, 1], "found an xz file" },
        { "a.csv", Bytes("BZh91AY&SY"), "found a bzip2 file" },
        { "a.gz", Zip(true, ("a", [1])), "is not a gzip file, as its name says: found a zip archive" },
        { "a.tgz", Tar(("a", [1])), "is not a gzip file, as its name says: found a tar archive" },
        { "a.tar", Gzip(Tar(("a", [1]))), "is not a tar archive, as its name says: found a gzip file" },
        { "a.tar", Bytes(Lines(100, 1)), "found something else" },
    };

    [Theory]
    [MemberData(nameof(MislabelledFiles))]
    public void File_that_contradicts_its_extension_is_refused_before_and_after_upload(string name, byte[] file, string reason)
    {
        AssertRefused(reason, file, name: name);
        var head = file[..Math.Min(file.Length, BreachFile.HeadBytes)];
        var refusal = Assert.Throws<BadArchiveException>(() => BreachFile.CheckHead(head, name));
        Assert.Contains(reason, refusal.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Text_that_starts_like_an_archive_is_read_as_text()
    {
        foreach (var text in new[] { "BZhang@example.com", "PK,name,mail", "a", "\0\0", "7z" })
            Assert.Equal(text, Assert.Single(Read(Bytes(text), name: "a.csv")).Content);
        AssertRefused("'a.csv': the file is empty (0 bytes)", [], name: "x/a.csv");
        Assert.Throws<BadInputException>(() => BreachFile.Open(new MemoryStream([1]), "a.json", null, new ArchiveLimits(), true));
    }

    internal static void AssertResumes(byte[] file, string name, int[] entries)
    {
        var all = Read(file, default, out var end, name: name);
        var positions = new SortedDictionary<int, ArchivePosition>();
        using var breach = BreachFile.Open(new MemoryStream(file), name, null, new ArchiveLimits(), opensTars: true);
        foreach (var text in breach.ReadFrom(default))
        {
            positions[text.TopLevel.Entry] = text.TopLevel;
            text.Content.CopyTo(Stream.Null, 999);
        }
        Assert.Equal(entries, positions.Keys);
        foreach (var (entry, position) in positions)
        {
            Assert.Equal(all.Where(text => text.TopLevel >= entry), Read(file, position, out var sameEnd, name: name));
            Assert.Equal(end, sameEnd);
        }
    }

    private static (List<string> Accounts, List<ArchivePosition> Positions, ArchivePosition End) ReadParts(
        byte[] bytes, ArchivePosition start, int partBytes)
    {
        using var file = new TextBreach(
            new MemoryStream(bytes), EntryName.File("a.csv"), new InflationMeter(new ArchiveLimits(), bytes.Length), partBytes);
        var (accounts, positions) = (new List<string>(), new List<ArchivePosition>());
        foreach (var text in file.ReadFrom(start))
        {
            positions.Add(text.TopLevel);
            var content = new MemoryStream();
            text.Content.CopyTo(content, 777);
            accounts.AddRange(CollectingSink.Scan(content.ToArray()).Accounts);
        }
        return (accounts, positions, file.Position);
    }
}
