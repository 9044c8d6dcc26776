using HibpIngest.Passwords.Releases;

namespace HibpIngest.Tests.Passwords;

public sealed class PackIndexTests
{
    private const long Header = PackIndex.PackHeaderBytes;

    [Fact]
    public void An_index_returns_each_ranges_offset_length_and_checksum()
    {
        var index = PackIndex.Parse(HashMode.Sha1, PackIndex.Make(HashMode.Sha1, Packs()));
        // Ranges 0 and 1 of each pack have 100 and 50 bytes; the last has 7; the others none.
        Assert.Equal((Header, 100), index.PlaceOf(0x12000));
        Assert.Equal((Header + 100, 50), index.PlaceOf(0x12001));
        Assert.Equal((Header + 150, 0), index.PlaceOf(0x12002));
        Assert.Equal((Header + 150, 0), index.PlaceOf(0x12FFE));
        Assert.Equal((Header + 150, 7), index.PlaceOf(0x12FFF));
        Assert.Equal((Header, 100), index.PlaceOf(0x13000));
        Assert.Equal((Header + 150, 7), index.PlaceOf(0xFFFFF));
        Assert.Equal("\"0x8DD12\"", index.ETagOf(0x12));
        Assert.Equal(0x12_000_001u, index.ChecksumOf(0x12001));
    }

    [Fact]
    public void A_damaged_truncated_or_wrong_mode_index_is_rejected()
    {
        var bytes = PackIndex.Make(HashMode.Sha1, Packs());
        Assert.Equal(16 + (256 * 64) + (1_048_576 * 8) + 4, bytes.Length);
        Assert.Throws<StoreMismatchException>(() => PackIndex.Parse(HashMode.Ntlm, bytes));
        Assert.Throws<StoreMismatchException>(() => PackIndex.Parse(HashMode.Sha1, bytes.AsMemory(0, bytes.Length - 1)));
        Assert.Throws<StoreMismatchException>(() => PackIndex.Parse(HashMode.Sha1, ReadOnlyMemory<byte>.Empty));
        var random = new Random(5);
        for (var i = 0; i < 20; i++)
        {
            var at = random.Next(bytes.Length);
            bytes[at] ^= 0x10;
            Assert.Throws<StoreMismatchException>(() => PackIndex.Parse(HashMode.Sha1, bytes));
            bytes[at] ^= 0x10;
        }
        PackIndex.Parse(HashMode.Sha1, bytes);
    }

    [Fact]
    public void PresentRanges_lists_the_present_ranges_and_rejects_damage()
    {
        var group = new byte[PresentRanges.GroupBytes];
        group[0] = 0b1000_0001;
        group[^1] = 0b1000_0000;
        var bytes = PresentRanges.Make(HashMode.Ntlm, Enumerable.Repeat((ReadOnlyMemory<byte>)group, 256));
        var present = PresentRanges.Parse(HashMode.Ntlm, bytes);
        Assert.Equal([0x34000, 0x34007, 0x34FFF], present.OfGroup(0x34));
        Assert.True(present[0xFFFFF]);
        Assert.False(present[0xFFFFE]);
        bytes[20_000] ^= 1;
        Assert.Throws<StoreMismatchException>(() => PresentRanges.Parse(HashMode.Ntlm, bytes));
        bytes[20_000] ^= 1;
        Assert.Throws<StoreMismatchException>(() => PresentRanges.Parse(HashMode.Sha1, bytes));
    }

    private static PackRecord[] Packs() => [.. Enumerable.Range(0, 256).Select(pack =>
    {
        var entries = new byte[4_096 * 8];
        for (var range = 0; range < 4_096; range++)
        {
            BitConverter.TryWriteBytes(entries.AsSpan(range * 8), (uint)(Header + (range == 0 ? 0 : range == 1 ? 100 : 150)));
            BitConverter.TryWriteBytes(entries.AsSpan((range * 8) + 4), ((uint)pack << 24) | (uint)range);
        }
        return new PackRecord(Header + 157, 3, $"\"0x8DD{pack:X2}\"", entries);
    })];
}
