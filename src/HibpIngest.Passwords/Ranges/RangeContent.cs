namespace HibpIngest.Passwords.Ranges;

/// <summary>A range of one release, in the form in which its back end stores it.</summary>
public sealed record RangeContent(HashMode Mode, RangeBody Stored, DateTimeOffset LastModified)
{
    /// <param name="md5">The digest, if the store reports it.</param>
    public static RangeContent OfGzip(
        HashMode mode, ReadOnlyMemory<byte> gzip, DateTimeOffset lastModified, byte[]? md5 = null) =>
        new(mode, RangeBody.Of(gzip, isGzip: true, md5), lastModified);

    public static RangeContent OfText(HashMode mode, ReadOnlyMemory<byte> text, DateTimeOffset lastModified) =>
        new(mode, RangeBody.Of(text, isGzip: false), lastModified);

    /// <summary>
    /// Returns the body to send: as stored if the client accepts that, else decompressed. Nothing is compressed for a request.
    /// </summary>
    /// <exception cref="Errors.StoreMismatchException">The stored range is damaged.</exception>
    public RangeBody For(bool takesGzip) =>
        !Stored.IsGzip || takesGzip ? Stored : RangeBody.Of(RangeGzip.Decompress(Stored.Bytes), isGzip: false);

    /// <summary>Returns the range followed by padding rows (<see cref="RangePadding"/>).</summary>
    public (ReadOnlyMemory<byte> Bytes, bool IsGzip) Padded(bool takesGzip)
    {
        var padding = RangePadding.Make(Mode);
        if (Stored.IsGzip && takesGzip && RangeGzip.Append(Stored.Bytes.Span, padding) is { } gzip)
            return (gzip, true);
        var text = Stored.IsGzip ? RangeGzip.Decompress(Stored.Bytes) : Stored.Bytes;
        return ((byte[])[.. text.Span, .. padding], false);
    }
}
