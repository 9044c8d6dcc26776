namespace HibpIngest.Passwords;

/// <summary>A range of one release, in the form in which its back end keeps it.</summary>
public sealed record RangeContent(HashMode Mode, RangeBody Stored, DateTimeOffset LastModified)
{
    /// <param name="md5">Its digest, where the store has said it.</param>
    public static RangeContent OfGzip(
        HashMode mode, ReadOnlyMemory<byte> gzip, DateTimeOffset lastModified, byte[]? md5 = null) =>
        new(mode, RangeBody.Of(gzip, isGzip: true, md5), lastModified);

    public static RangeContent OfText(HashMode mode, ReadOnlyMemory<byte> text, DateTimeOffset lastModified) =>
        new(mode, RangeBody.Of(text, isGzip: false), lastModified);

    /// <summary>
    /// As it is to be sent: as it is stored where the client takes that, else decompressed. Nothing is compressed for a request.
    /// </summary>
    /// <exception cref="Errors.StoreMismatchException">What is stored is damaged.</exception>
    public RangeBody For(bool takesGzip) =>
        !Stored.IsGzip || takesGzip ? Stored : RangeBody.Of(RangeGzip.Decompress(Stored.Bytes), isGzip: false);

    /// <summary>The same with rows behind it that say nothing.</summary>
    public (ReadOnlyMemory<byte> Bytes, bool IsGzip) Padded(bool takesGzip)
    {
        var padding = RangePadding.Make(Mode);
        if (Stored.IsGzip && takesGzip && RangeGzip.Append(Stored.Bytes.Span, padding) is { } gzip)
            return (gzip, true);
        var text = Stored.IsGzip ? RangeGzip.Decompress(Stored.Bytes) : Stored.Bytes;
        return ((byte[])[.. text.Span, .. padding], false);
    }
}
