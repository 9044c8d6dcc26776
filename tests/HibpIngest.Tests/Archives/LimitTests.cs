using HibpIngest.Archives;
using ICSharpCode.SharpZipLib.Zip;
using static HibpIngest.Testing.ArchiveTesting;

namespace HibpIngest.Tests.Archives;

public sealed class LimitTests
{
    private static byte[] Nest(byte[] innermost, int depth, bool gzip)
    {
        var data = innermost;
        for (var i = 0; i < depth; i++)
            data = gzip && i % 2 == 0 ? Gzip(data) : Zip(false, ("n", data));
        return Zip(true, ("top", data));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void Nesting_beyond_the_limit_is_refused(bool gzip)
    {
        Assert.Equal("deep", Assert.Single(Read(Nest(Bytes("deep"), 3, gzip))).Content);
        AssertRefused("an archive 4 deep, at most 3 are opened (limit MaxNesting)", Nest(Bytes("deep"), 4, gzip));
        AssertRefused("an archive 1 deep, at most 0", Nest(Bytes("deep"), 1, gzip), limits: new() { MaxNesting = 0 });
        Assert.Equal("flat", Assert.Single(Read(Nest(Bytes("flat"), 0, gzip), limits: new() { MaxNesting = 0 })).Content);
    }

    [Fact]
    public void Entries_are_counted_over_all_levels()
    {
        var inner = Zip(true, ("a", Bytes("a")), ("b", []), ("c", Gzip(Bytes("c"))));
        var zip = Zip(true, ("x", inner), ("y", inner));
        Read(zip, default, out var end, limits: new() { MaxEntries = 10 });
        Assert.Equal(10, end.EntriesOpened);
        AssertRefused("hold more than 9 entries (limit MaxEntries)", zip, limits: new() { MaxEntries = 9 });
    }

    [Fact]
    public void Inflated_bytes_are_counted_over_all_levels()
    {
        var inner = Zip(true, ("a", new byte[1000]));
        var zip = Zip(true, ("x", inner), ("y", inner));
        long exactly = 2 * (1000 + inner.Length);
        Read(zip, default, out var end, limits: new() { MaxInflatedBytes = exactly });
        Assert.Equal(exactly, end.InflatedBytes);
        AssertRefused("(limit MaxInflatedBytes)", zip, limits: new() { MaxInflatedBytes = exactly - 1 });
    }

    [Fact]
    public void Counts_resume_from_the_start_position()
    {
        var zip = Zip(true, ("x", Bytes("x")), ("y", Bytes("y")));
        var start = new ArchivePosition(1, 100, 50, 7);
        Read(zip, start, out var end);
        Assert.Equal(new ArchivePosition(2, 101, 51, 7), end);
        Assert.Throws<BadArchiveException>(() => Read(zip, start, out _, limits: new() { MaxEntries = 50 }));
        Assert.Throws<BadArchiveException>(() => Read(zip, start, out _, limits: new() { MaxInflatedBytes = 100 }));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Bomb_is_stopped_by_its_inflation_ratio(int levels)
    {
        var bomb = new byte[16 << 20];
        for (var i = 0; i < levels; i++)
            bomb = Zip(i % 2 == 0, ("zeros", bomb));
        using var breach = BreachArchive.Open(new MemoryStream(bomb), null, new ArchiveLimits { RatioGraceBytes = 1 << 18 });

        var thrown = Assert.Throws<BadArchiveException>(() => breach.ReadFrom(default).Count());

        Assert.Contains("inflates to more than 200 times its size (limit MaxInflationRatio)", thrown.Message, StringComparison.Ordinal);
        var allowed = Math.Max(1 << 18, 200L * bomb.Length);
        Assert.InRange(breach.Position.InflatedBytes, allowed, allowed + (1 << 18));
        // A small archive of one repeated line is no bomb.
        Read(bomb, limits: new() { RatioGraceBytes = 1 << 30 });
    }

    /// <summary>Input that costs time and inflates to nothing, at each level.</summary>
    [Theory]
    [InlineData("empty blocks")]
    [InlineData("empty blocks in a zip within")]
    [InlineData("empty blocks in a zip within, followed by their size")]
    [InlineData("empty blocks in a gzip within")]
    [InlineData("empty gzip members")]
    public void Compressed_bytes_that_inflate_to_nothing_are_limited(string what)
    {
        const int Bytes = 80 << 20;
        // Large enough for the content to inflate, so that no other limit applies.
        var filler = new RawZip.Entry("filler", new byte[1 << 20]) { Method = 0 };
        var blocks = new RawZip.Entry("idle", []) { Compressed = RawZip.EmptyBlocks(Bytes) };
        var entry = what switch
        {
            "empty blocks" => blocks,
            "empty blocks in a zip within" => new("n", RawZip.Of(blocks)),
            "empty blocks in a zip within, followed by their size" => new("n", RawZip.Of(
                blocks with { LocalFlags = 8, LocalCompressed = 0, After = RawZip.Descriptor(0, blocks.Compressed!.Length, 0) })),
            "empty blocks in a gzip within" => new("n", [.. EmptyGzip[..10], .. blocks.Compressed!, .. EmptyGzip[^8..]]),
            _ => new RawZip.Entry("n", Repeat(EmptyGzip, Bytes / EmptyGzip.Length)),
        };
        var name = what.Contains(" zip within", StringComparison.Ordinal) ? "n/idle" : entry.Name;
        Assert.StartsWith(
            $"entry 2 of 2 '{name}': the archive holds more than 67,108,864 compressed bytes that inflate to nothing (limit MaxIdleBytes)",
            Refusal(RawZip.Of(filler, entry)), StringComparison.Ordinal);
    }

    [Fact]
    public void Idle_bytes_are_counted_over_all_levels_and_from_the_start_position()
    {
        // The formats' own overhead is free: 1 KiB per stream.
        RawZip.Entry Blocks(int bytes) => new("idle", []) { Compressed = RawZip.EmptyBlocks(bytes + 1024) };
        var inner = RawZip.Of(Blocks(1000), new("text", Bytes("text")), Blocks(2000));
        byte[] gzip = [.. EmptyGzip[..10], .. Blocks(4000 - 18).Compressed!, .. EmptyGzip[^8..]];
        var zip = RawZip.Of(new("z", inner), new("g", gzip), Blocks(10_000), new("last", Bytes("last")));
        int[] idle = [0, Floor(1000) + Floor(2000), Floor(4000 - 18) + 18, Floor(10_000), 0];
        static int Floor(int bytes) => ((bytes + 1024) / 5 * 5) - 1024;

        for (var start = 0; start <= 4; start++)
        {
            var from = new ArchivePosition(start, 0, 0, idle[..(start + 1)].Sum());
            Read(zip, from, out var end, limits: new() { MaxIdleBytes = idle.Sum() });
            Assert.Equal(idle.Sum(), end.IdleBytes);
            var less = new ArchiveLimits { MaxIdleBytes = idle.Sum() - 1 };
            if (start < 3)
                Assert.Throws<BadArchiveException>(() => Read(zip, from, out _, limits: less));
        }
    }

    [Fact]
    public void Ordinary_entries_have_no_idle_bytes()
    {
        var noise = new byte[1 << 20];
        new Random(5).NextBytes(noise);
        noise[0] = (byte)'x';
        var lines = Bytes(Lines(1_000, 6));
        var nested = Zip(false, ("t", Bytes("b")), ("l", lines), ("m", noise));
        (string, byte[])[] gzips = [("g", Gzip(Bytes("c"))), ("h", Gzip(noise))];
        var zip = Zip(true, [("tiny", Bytes("a")), ("text", lines), ("noise", noise), ("n", nested), .. gzips]);
        Read(zip, default, out var end, limits: new() { MaxIdleBytes = 0 });
        Assert.Equal(0, end.IdleBytes);
        var encrypted = Encrypted("secret", 256, CompressionMethod.Deflated, ("a", Bytes("a")), ("b", noise));
        Read(encrypted, default, out end, "secret", new ArchiveLimits { MaxIdleBytes = 0 });
        Assert.Equal(0, end.IdleBytes);
    }

    private static byte[] EmptyGzip => [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF, 3, 0, .. new byte[8]];

    private static byte[] Repeat(byte[] part, int times)
    {
        var all = new byte[part.Length * times];
        for (var i = 0; i < times; i++)
            part.CopyTo(all, i * part.Length);
        return all;
    }
}
