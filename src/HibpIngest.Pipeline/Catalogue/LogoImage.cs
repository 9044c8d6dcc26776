namespace HibpIngest.Pipeline.Catalogue;

/// <summary>Checks a logo: a PNG of limited size. It isn't decoded here; the limits bound the work of a browser that decodes it.</summary>
internal static class LogoImage
{
    public const int MaxBytes = 512 * 1024;

    public const int MaxPixels = 1_024;

    /// <summary>The signature, and the first chunk's length and type, which are the same in every PNG (w3.org/TR/png).</summary>
    private static ReadOnlySpan<byte> Beginning => [137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82];

    public static string? FindFault(ReadOnlySpan<byte> image)
    {
        if (image.Length > MaxBytes)
            return TooLarge(image.Length);
        if (image.Length < Beginning.Length + 8 || !image.StartsWith(Beginning))
            return "the logo is not a PNG: expected the signature and the header of a PNG at its beginning";
        var width = BinaryPrimitives.ReadUInt32BigEndian(image[Beginning.Length..]);
        var height = BinaryPrimitives.ReadUInt32BigEndian(image[(Beginning.Length + 4)..]);
        return width is 0 or > MaxPixels || height is 0 or > MaxPixels
            ? $"the logo has {width} x {height} pixels, expected 1 to {MaxPixels} each way" : null;
    }

    public static string TooLarge(long bytes) => $"the logo has {bytes} bytes, expected at most {MaxBytes}";
}
