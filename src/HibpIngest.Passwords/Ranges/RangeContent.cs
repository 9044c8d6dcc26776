using System.Diagnostics.CodeAnalysis;

namespace HibpIngest.Passwords.Ranges;

/// <summary>A range of one release, in the form in which its back end stores it.</summary>
public sealed record RangeContent(HashMode Mode, RangeBody Stored, DateTimeOffset LastModified)
{
    internal static RangeContent OfGzip(HashMode mode, ReadOnlyMemory<byte> gzip, DateTimeOffset lastModified, byte[]? md5 = null) =>
        new(mode, RangeBody.Of(gzip, isGzip: true, md5), lastModified);

    internal static RangeContent OfText(HashMode mode, ReadOnlyMemory<byte> text, DateTimeOffset lastModified) =>
        new(mode, RangeBody.Of(text, isGzip: false), lastModified);

    /// <summary>Returns the body as stored if the client accepts that, else decompressed; nothing is compressed for a request.</summary>
    /// <exception cref="StoreMismatchException">The stored range is damaged.</exception>
    public RangeBody For(bool acceptsGzip) =>
        !Stored.IsGzip || acceptsGzip ? Stored : RangeBody.Of(RangeGzip.Decompress(Stored.Bytes), isGzip: false);

    /// <summary>Returns the range followed by padding rows (<see cref="RangePadding"/>).</summary>
    public (ReadOnlyMemory<byte> Bytes, bool IsGzip) Padded(bool acceptsGzip)
    {
        var padding = RangePadding.Make(Mode);
        if (Stored.IsGzip && acceptsGzip && RangeGzip.Append(Stored.Bytes.Span, padding) is { } gzip)
            return (gzip, true);
        var text = Stored.IsGzip ? RangeGzip.Decompress(Stored.Bytes) : Stored.Bytes;
        return ((byte[])[.. text.Span, .. padding], false);
    }
}

/// <summary>The body of a range's response, with its MD5 and ETag.</summary>
/// <param name="Md5">Content-MD5 (RFC 1864): base64.</param>
/// <param name="ETag">Strong: the same digest in hex, so that equal bytes have the same ETag in any release and on any server.</param>
public sealed record RangeBody(ReadOnlyMemory<byte> Bytes, bool IsGzip, string Md5, string ETag)
{
    [SuppressMessage(
        "Security", "CA5351:Do Not Use Broken Cryptographic Algorithms", Justification = "detects damage; not a security measure")]
    internal static RangeBody Of(ReadOnlyMemory<byte> bytes, bool isGzip, byte[]? md5 = null)
    {
        Span<byte> digest = stackalloc byte[MD5.HashSizeInBytes];
        if (md5 is null)
            MD5.HashData(bytes.Span, digest);
        else
            md5.CopyTo(digest);
        return new RangeBody(bytes, isGzip, Convert.ToBase64String(digest), $"\"{Convert.ToHexStringLower(digest)}\"");
    }
}

/// <summary>
/// Padding rows that follow those of a range, so that the length of a response doesn't reveal the range: 10 to 209 random rows with the
/// count 0, as Have I Been Pwned's Cloudflare worker adds them. Clients ignore rows with the count 0.
/// </summary>
internal static class RangePadding
{
    private const int MinRows = 10;
    private const int MaxRows = 209;
    private const int LineEndAndCountBytes = 4;

    public static byte[] Make(HashMode mode)
    {
        var digits = mode.SuffixDigits();
        var rows = RandomNumberGenerator.GetInt32(MinRows, MaxRows + 1);
        var text = new byte[rows * (digits + LineEndAndCountBytes)];
        Span<byte> random = stackalloc byte[mode.Bytes()];
        Span<byte> hash = stackalloc byte[mode.Digits()];
        var at = text.AsSpan();
        for (var i = 0; i < rows; i++)
        {
            RandomNumberGenerator.Fill(random);
            Convert.TryToHexString(random, hash, out _);
            "\r\n"u8.CopyTo(at);
            hash[..digits].CopyTo(at[2..]);
            ":0"u8.CopyTo(at[(2 + digits)..]);
            at = at[(digits + LineEndAndCountBytes)..];
        }
        return text;
    }
}
