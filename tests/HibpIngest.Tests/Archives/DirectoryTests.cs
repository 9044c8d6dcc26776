using HibpIngest.Archives;
using static HibpIngest.Testing.ArchiveTesting;

namespace HibpIngest.Tests.Archives;

public sealed class DirectoryTests
{
    private static RawZip Two() => new RawZip().Add(new("a", Bytes("first"))).Add(new("b", Bytes("second")) { Method = 0 });

    private static readonly ArchiveTesting.Text[] TwoRead = [new(0, "a", "first"), new(1, "b", "second")];

    [Fact]
    public void Comments_prefixes_gaps_and_trailing_bytes_are_ignored()
    {
        var plain = Two().Finish();
        Assert.Equal(TwoRead, Read(plain));
        Assert.Equal(TwoRead, Read(Two().Finish(comment: "a comment")));
        Assert.Equal(TwoRead, Read(Two().Finish(comment: new string('x', 65_535))));
        Assert.Equal(TwoRead, Read(Two().Finish(comment: "one with PK\u0005\u0006 and twenty bytes more than that")));
        Assert.Equal(TwoRead, Read([.. Encoding.ASCII.GetBytes("MZ a self-extractor"), .. plain]));
        Assert.Equal(TwoRead, Read([.. plain, .. Encoding.ASCII.GetBytes("\r\n-- end of upload --")]));
        Assert.Equal(TwoRead, Read(Two().Finish(gap: new byte[77])));
    }

    [Fact]
    public void Zip64_end_records_are_read_and_validated()
    {
        Assert.Equal(TwoRead, Read(Two().FinishZip64()));
        Assert.Equal(TwoRead, Read([1, 2, 3, .. Two().FinishZip64()]));
        AssertRefused(
            "its ZIP64 end record is not where",
            [.. Two().FinishZip64(locatorOffset: 5)[..^42], 9, .. Two().FinishZip64(locatorOffset: 5)[^42..]]);
        AssertRefused(
            "18,446,744,073,709,551,615 entries, at most 1,000,000 are read (limit MaxEntries)",
            Two().FinishZip64(entries: ulong.MaxValue));
        AssertRefused("which can't be in a file", Two().FinishZip64(entries: 900_000));
    }

    [Fact]
    public void Zip64_sizes_and_offsets_of_an_entry_are_read()
    {
        var text = Bytes(Lines(100, 20));
        byte[] sizes = [.. BitConverter.GetBytes((long)text.Length), .. BitConverter.GetBytes((long)RawZip.Deflate(text).Length)];
        byte[] local = [1, 0, 16, 0, .. sizes];
        byte[] central = [0x55, 0x55, 2, 0, 9, 9, 1, 0, 24, 0, .. sizes, .. BitConverter.GetBytes(0L)];
        var entry = new RawZip.Entry("e", text)
        {
            LocalSize = uint.MaxValue,
            LocalCompressed = uint.MaxValue,
            CentralSize = uint.MaxValue,
            CentralCompressed = uint.MaxValue,
            Offset = uint.MaxValue,
            LocalExtra = local,
            CentralExtra = central,
        };
        var zip = RawZip.Of(entry);
        Assert.Equal([new(0, "e", Encoding.Latin1.GetString(text))], Read(zip));
        Assert.Equal([new(0, "n/e", Encoding.Latin1.GetString(text))], Read(RawZip.Of(new RawZip.Entry("n", zip))));
    }

    [Fact]
    public void Wrong_entry_count_or_directory_offset_is_refused()
    {
        AssertRefused("says it has 1 entries and has more", Two().Finish(entries: 1));
        AssertRefused("ends before entry 3 of 3", Two().AddRawRecord(new byte[46]).Finish());
        AssertRefused("says no entries in 94 bytes", Two().Finish(entries: 0));
        AssertRefused("says 3 entries in 94 bytes", Two().Finish(entries: 3));
        AssertRefused("no central directory at 1, where", Two().Finish(directorySize: 95, directoryOffset: 1));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Two_hundred_thousand_entries_are_read_in_bounded_memory(bool reversed)
    {
        const int entries = 200_000;
        var zip = new RawZip();
        for (var i = 0; i < entries; i++)
            zip.Add(new("an entry", Bytes("x")) { Method = 0 });
        if (reversed)
            zip.Reverse();
        var archive = zip.FinishZip64();

        using var stream = new MemoryStream(archive);
        var before = GC.GetAllocatedBytesForCurrentThread();
        using var breach = BreachArchive.Open(stream, null, new ArchiveLimits());
        var opened = GC.GetAllocatedBytesForCurrentThread() - before;
        var count = 0;
        foreach (var text in breach.ReadFrom(default))
            count++;

        Assert.Equal(entries, count);
        Assert.Equal(entries, breach.Entries);
        Assert.Equal(new ArchivePosition(entries, entries, entries), breach.Position);
        // One chunk of the directory, which is eleven times that. Out of order: another 20 bytes per entry.
        Assert.InRange(opened, 0, (2 << 20) + (reversed ? 20 * entries : 0));
        AssertRefused("(limit MaxEntries)", archive, limits: new() { MaxEntries = entries - 1 });
    }
}
