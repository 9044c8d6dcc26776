using System.Buffers.Binary;
using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Layouts;

namespace HibpIngest.Tests.Catalogue;

public sealed class LogoImageTests
{
    [Theory]
    [InlineData(1, 1, true)]
    [InlineData(1_024, 1_024, true)]
    [InlineData(1_025, 1, false)]
    [InlineData(1, 1_025, false)]
    [InlineData(0, 1, false)]
    [InlineData(1, 0, false)]
    [InlineData(uint.MaxValue, 1, false)]
    public void A_logo_has_1_to_1024_pixels_per_side(uint width, uint height, bool isGood)
    {
        var fault = LogoImage.FindFault(Png(width, height));
        Assert.True(isGood == fault is null, fault);
        if (fault is not null)
            Assert.Contains($"{width} x {height} pixels, expected 1 to 1024", fault, StringComparison.Ordinal);
    }

    [Fact]
    public void Truncated_damaged_and_oversized_logos_are_rejected()
    {
        var png = Png(1, 1);
        for (var length = 0; length < png.Length; length++)
            Assert.NotNull(LogoImage.FindFault(png.AsSpan(0, length)));
        for (var i = 0; i < 16; i++)
        {
            var damaged = Png(1, 1);
            damaged[i] ^= 1;
            Assert.Contains("not a PNG", LogoImage.FindFault(damaged), StringComparison.Ordinal);
        }
        Assert.Contains("524289 bytes", LogoImage.FindFault(new byte[LogoImage.MaxBytes + 1]), StringComparison.Ordinal);
    }

    private static byte[] Png(uint width, uint height)
    {
        var png = new byte[24];
        ((byte[])[0x89, .. "PNG\r\n"u8, 0x1a, .. "\n"u8, 0, 0, 0, 13, .. "IHDR"u8]).CopyTo(png, 0);
        BinaryPrimitives.WriteUInt32BigEndian(png.AsSpan(16), width);
        BinaryPrimitives.WriteUInt32BigEndian(png.AsSpan(20), height);
        return png;
    }
}
