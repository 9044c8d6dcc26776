using HibpIngest.Archives;
using ICSharpCode.SharpZipLib.Zip;
using static HibpIngest.Testing.ArchiveTesting;

namespace HibpIngest.Tests.Archives;

public sealed class ReadingTests
{
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Entries_are_read_completely_and_in_order(bool seekable)
    {
        string[] texts = [Lines(20_000, 1), "one line", Lines(10, 2)];
        var zip = Zip(
            seekable, ("b.csv", Bytes(texts[0])), ("folder/", []), ("empty.txt", []), ("folder/a.sql", Bytes(texts[1])),
            ("noext", Bytes(texts[2])));

        var read = Read(zip, default, out var end);

        Assert.Equal([new(0, "b.csv", texts[0]), new(3, "folder/a.sql", texts[1]), new(4, "noext", texts[2])], read);
        Assert.Equal(new ArchivePosition(5, texts.Sum(text => text.Length), 5), end);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Nested_zips_and_gzips_are_detected_by_content_not_by_name(bool seekable)
    {
        var text = Lines(5_000, 3);
        var inner = Zip(seekable, ("x.txt", Bytes(text)), ("void", []), ("y.dat", Gzip(Bytes("in gzip in zip"))));
        var middle = Zip(seekable, ("inner.bin", inner), ("z", Bytes("beside")));
        var zip = Zip(
            seekable, ("plain.zip", Bytes("a text named zip")), ("middle.txt", middle), ("g.sql", Gzip(Bytes("in gzip"))),
            ("last", Bytes("last")));

        var read = Read(zip);

        Assert.Equal(
            [
                new(0, "plain.zip", "a text named zip"), new(1, "middle.txt/inner.bin/x.txt", text),
                new(1, "middle.txt/inner.bin/y.dat", "in gzip in zip"),
                new(1, "middle.txt/z", "beside"), new(2, "g.sql", "in gzip"), new(3, "last", "last"),
            ],
            read);
    }

    [Fact]
    public void Empty_nested_zip_yields_no_texts() =>
        Assert.Equal([new(1, "t", "t")], Read(Zip(true, ("empty.zip", RawZip.Of()), ("t", Bytes("t")))));

    [Fact]
    public void Gzip_with_several_members_and_padding_is_read()
    {
        byte[] gzip = [.. Gzip(Bytes(Lines(2_000, 4))), .. Gzip([]), .. Gzip(Bytes("second")), .. new byte[1000]];
        Assert.Equal([new(0, "g", Lines(2_000, 4) + "second")], Read(Zip(true, ("g", gzip))));
    }

    [Theory]
    [InlineData(0, CompressionMethod.Deflated)]
    [InlineData(0, CompressionMethod.Stored)]
    [InlineData(128, CompressionMethod.Deflated)]
    [InlineData(256, CompressionMethod.Deflated)]
    [InlineData(256, CompressionMethod.Stored)]
    public void Encrypted_entries_are_read_with_the_password(int aesBits, CompressionMethod method)
    {
        var text = Lines(20_000, 5);
        var zip = Encrypted("correct horse", aesBits, method, ("a.csv", Bytes(text)), ("b.csv", Bytes("short")));

        Assert.Equal([new(0, "a.csv", text), new(1, "b.csv", "short")], Read(zip, "correct horse"));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Resuming_at_any_entry_gives_the_same_texts_and_counts(bool seekable)
    {
        var inner = Zip(seekable, ("x", Bytes(Lines(300, 6))), ("y", Gzip(Bytes(Lines(100, 7)))));
        var zip = Zip(
            seekable, ("a", Bytes(Lines(1_000, 8))), ("dir/", []), ("n", inner), ("b", Bytes("b")), ("g", Gzip(inner)), ("empty", []),
            ("c", Bytes("c")));

        FormatTests.AssertResumes(zip, "a.zip", [0, 2, 3, 4, 6]);
    }

    [Fact]
    public void Unread_texts_are_skipped_and_counted()
    {
        var inner = Zip(false, ("x", Bytes(Lines(300, 6))), ("y", Bytes("y")));
        var zip = Zip(true, ("n", inner), ("b", Bytes("b")));
        using var breach = BreachArchive.Open(new MemoryStream(zip), null, new ArchiveLimits());

        Assert.Equal(["n/x", "n/y", "b"], breach.ReadFrom(default).Select(text => text.DisplayName));
        Read(zip, default, out var end);
        Assert.Equal(end, breach.Position);
    }
}
