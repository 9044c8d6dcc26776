using HibpIngest.Archives;
using static HibpIngest.Tests.Archives.ArchiveTesting;

namespace HibpIngest.Tests.Archives;

/// <summary>Limits are counted over all levels while reading, and reached limits stop it there.</summary>
public sealed class LimitTests
{
    private static byte[] Nest(byte[] innermost, int depth, bool gzip)
    {
        byte[] data = innermost;
        for (int i = 0; i < depth; i++)
            data = gzip && i % 2 == 0 ? Gzip(data) : Zip(false, ("n", data));
        return Zip(true, ("top", data));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Nesting_is_opened_to_its_limit(bool gzip)
    {
        Assert.Equal("deep", Assert.Single(Read(Nest(Bytes("deep"), 3, gzip))).Content);
        Assert.Contains("an archive 4 deep, at most 3 are opened (limit MaxNesting)", Refusal(Nest(Bytes("deep"), 4, gzip)), StringComparison.Ordinal);
        Assert.Contains("an archive 1 deep, at most 0", Refusal(Nest(Bytes("deep"), 1, gzip), limits: new ArchiveLimits { MaxNesting = 0 }), StringComparison.Ordinal);
        Assert.Equal("flat", Assert.Single(Read(Nest(Bytes("flat"), 0, gzip), limits: new ArchiveLimits { MaxNesting = 0 })).Content);
    }

    [Fact]
    public void Entries_are_counted_over_all_levels()
    {
        byte[] inner = Zip(true, ("a", Bytes("a")), ("b", []), ("c", Gzip(Bytes("c"))));
        byte[] zip = Zip(true, ("x", inner), ("y", inner));
        Read(zip, default, out var end, limits: new ArchiveLimits { MaxEntries = 10 });
        Assert.Equal(10, end.EntriesOpened);
        Assert.Contains("hold more than 9 entries (limit MaxEntries)", Refusal(zip, limits: new ArchiveLimits { MaxEntries = 9 }), StringComparison.Ordinal);
    }

    [Fact]
    public void Inflated_bytes_are_counted_over_all_levels()
    {
        byte[] inner = Zip(true, ("a", new byte[1000]));
        byte[] zip = Zip(true, ("x", inner), ("y", inner));
        long exactly = 2 * (1000 + inner.Length);
        Read(zip, default, out var end, limits: new ArchiveLimits { MaxInflatedBytes = exactly });
        Assert.Equal(exactly, end.InflatedBytes);
        Assert.Contains("(limit MaxInflatedBytes)", Refusal(zip, limits: new ArchiveLimits { MaxInflatedBytes = exactly - 1 }), StringComparison.Ordinal);
    }

    [Fact]
    public void Counts_go_on_from_where_reading_starts()
    {
        byte[] zip = Zip(true, ("x", Bytes("x")), ("y", Bytes("y")));
        var start = new ArchivePosition(1, 100, 50);
        Read(zip, start, out var end);
        Assert.Equal(new ArchivePosition(2, 101, 51), end);
        Assert.Throws<BadArchiveException>(() => Read(zip, start, out _, limits: new ArchiveLimits { MaxEntries = 50 }));
        Assert.Throws<BadArchiveException>(() => Read(zip, start, out _, limits: new ArchiveLimits { MaxInflatedBytes = 100 }));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void A_bomb_is_stopped_by_its_ratio_whatever_its_headers_say(int levels)
    {
        byte[] bomb = new byte[16 << 20];
        for (int i = 0; i < levels; i++)
            bomb = Zip(i % 2 == 0, ("zeros", bomb));
        using var breach = BreachArchive.Open(new MemoryStream(bomb), null, new ArchiveLimits { RatioGraceBytes = 1 << 18 });

        var thrown = Assert.Throws<BadArchiveException>(() => breach.ReadFrom(default).Count());

        Assert.Contains("inflates to more than 200 times its size (limit MaxInflationRatio)", thrown.Message, StringComparison.Ordinal);
        long allowed = Math.Max(1 << 18, 200L * bomb.Length);
        Assert.InRange(breach.Position.InflatedBytes, allowed, allowed + (1 << 18));
        // A small archive of one repeated line is no bomb.
        Read(bomb, limits: new ArchiveLimits { RatioGraceBytes = 1 << 30 });
    }

    [Fact]
    public void Records_that_share_one_entry_are_counted_each()
    {
        byte[] kernel = new byte[1 << 20];
        byte[] one = RawZip.Of(new RawZip.Entry("k", kernel));
        int recordAt = one.AsSpan().LastIndexOf("PK\u0001\u0002"u8);
        var zip = new RawZip().Add(new("k", kernel));
        for (int i = 0; i < 1000; i++)
            zip.AddRecord(one[recordAt..(recordAt + 47)]);
        Assert.Contains("(limit MaxInflationRatio)", Refusal(zip.Finish()), StringComparison.Ordinal);
    }
}
