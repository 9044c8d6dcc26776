namespace HibpIngest.Tests.Clients;

/// <summary>Tests that each prefix has a bit at the position that docs/callbacks.md gives.</summary>
public sealed class PrefixBitmapTests
{
    [Theory]
    [InlineData("000000", 0, 0x01)]
    [InlineData("000007", 0, 0x80)]
    [InlineData("000008", 1, 0x01)]
    [InlineData("0A1B2C", 0x14365, 0x10)]
    [InlineData("0a1b2c", 0x14365, 0x10)]
    [InlineData("FFFFFF", 0x1FFFFF, 0x80)]
    public void Prefix_sets_the_bit_at_its_documented_position(string text, int at, byte bits)
    {
        Assert.True(PrefixBitmap.TryParse(Encoding.ASCII.GetBytes(text), out var prefix));
        Assert.Equal(int.Parse(text, NumberStyles.HexNumber, CultureInfo.InvariantCulture), prefix);
        Assert.Equal(text.ToUpperInvariant(), PrefixBitmap.TextOf(prefix));
        var bitmap = new PrefixBitmap();
        Assert.False(bitmap.Contains(prefix));
        Assert.True(bitmap.Set(prefix, true));
        Assert.False(bitmap.Set(prefix, true));
        Assert.True(bitmap.Contains(prefix));
        Assert.Equal(1, bitmap.Count);
        var bytes = bitmap.Bytes.ToArray();
        Assert.Equal((bits, 1), (bytes[at], bytes.Count(one => one != 0)));
        Assert.True(new PrefixBitmap(bytes).Contains(prefix));
        Assert.True(bitmap.Set(prefix, false));
        Assert.False(bitmap.Set(prefix, false));
        Assert.Equal(0, bitmap.Count);
    }

    public static TheoryData<string> Invalid => ["", "00000", "0000000", "00000g", "00 000", "+00000", "0x0000"];

    [Theory]
    [MemberData(nameof(Invalid))]
    public void Invalid_prefix_is_not_parsed(string text) => Assert.False(PrefixBitmap.TryParse(Encoding.ASCII.GetBytes(text), out _));

    [Fact]
    public void Bitmap_has_two_megabytes_and_no_other_length()
    {
        Assert.Equal(2 * 1024 * 1024, new PrefixBitmap().Bytes.Length);
        Assert.Throws<ArgumentException>(() => new PrefixBitmap(new byte[1024]));
        Assert.Equal(PrefixBitmap.Prefixes, new PrefixBitmap([.. Enumerable.Repeat((byte)0xFF, PrefixBitmap.Length)]).Count);
    }
}
