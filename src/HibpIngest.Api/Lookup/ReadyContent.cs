using System.IO.Compression;

namespace HibpIngest.Api.Lookup;

/// <summary>A response body that is the same for all callers: its bytes, plain and gzipped, and their ETags.</summary>
public sealed class ReadyContent
{
    /// <summary>Below this size, gzip hardly saves a packet.</summary>
    private const int MinBytesForGzip = 1_024;

    private ReadyContent(ReadOnlyMemory<byte> identity, ReadOnlyMemory<byte>? gzip)
    {
        var hash = Convert.ToHexStringLower(SHA256.HashData(identity.Span).AsSpan(0, 16));
        (Identity, Gzip, ETag, GzipETag) = (identity, gzip, $"\"{hash}\"", $"\"{hash}-gzip\"");
    }

    /// <summary>The uncompressed bytes (content coding "identity").</summary>
    public ReadOnlyMemory<byte> Identity { get; }

    /// <summary>Null if the content is not worth compressing.</summary>
    public ReadOnlyMemory<byte>? Gzip { get; }

    /// <summary>ETag of <see cref="Identity"/>: a hash of the bytes, so that it is the same on every instance.</summary>
    public string ETag { get; }

    /// <summary>ETag of <see cref="Gzip"/>, which is another representation of the same content.</summary>
    public string GzipETag { get; }

    /// <exception cref="InvalidDataException">The bytes are not gzip.</exception>
    public static ReadyContent OfGzip(ReadOnlyMemory<byte> gzip)
    {
        using var identity = new MemoryStream();
        using (var stream = new GZipStream(new MemoryStream(gzip.ToArray()), CompressionMode.Decompress))
            stream.CopyTo(identity);
        return new ReadyContent(identity.ToArray(), gzip);
    }

    /// <summary>Creates the content from an image, which is compressed already.</summary>
    public static ReadyContent OfImage(ReadOnlyMemory<byte> image) => new(image, null);

    /// <summary>Creates the content from plain bytes; gzips them if that is worthwhile.</summary>
    public static ReadyContent Of(ReadOnlyMemory<byte> identity)
    {
        if (identity.Length < MinBytesForGzip)
            return new ReadyContent(identity, null);
        using var gzip = new MemoryStream();
        using (var stream = new GZipStream(gzip, CompressionLevel.Optimal, leaveOpen: true))
            stream.Write(identity.Span);
        return new ReadyContent(identity, gzip.ToArray());
    }
}
