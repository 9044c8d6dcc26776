using System.IO.Compression;
using System.Security.Cryptography;

namespace HibpIngest.Lookup;

/// <summary>An answer that is the same for everybody: its bytes as they are and gzipped, and their entity tags.</summary>
public sealed class ReadyContent
{
    /// <summary>Below that many bytes a gzipped answer is hardly smaller than the packet it comes in.</summary>
    private const int LeastForGzip = 1_024;

    private ReadyContent(ReadOnlyMemory<byte> identity, ReadOnlyMemory<byte>? gzip)
    {
        var hash = Convert.ToHexStringLower(SHA256.HashData(identity.Span).AsSpan(0, 16));
        (Identity, Gzip, ETag, GzipETag) = (identity, gzip, $"\"{hash}\"", $"\"{hash}-gzip\"");
    }

    public ReadOnlyMemory<byte> Identity { get; }

    /// <summary>Gzipped; null where that is not worth it.</summary>
    public ReadOnlyMemory<byte>? Gzip { get; }

    /// <summary>Of <see cref="Identity"/>: made of its bytes, so that it stays while they do, on every instance.</summary>
    public string ETag { get; }

    /// <summary>Of <see cref="Gzip"/>: another representation of the same.</summary>
    public string GzipETag { get; }

    /// <summary>Of bytes that are gzipped already.</summary>
    /// <exception cref="InvalidDataException">They are not.</exception>
    public static ReadyContent OfGzip(ReadOnlyMemory<byte> gzip)
    {
        using var identity = new MemoryStream();
        using (var stream = new GZipStream(new MemoryStream(gzip.ToArray()), CompressionMode.Decompress))
            stream.CopyTo(identity);
        return new ReadyContent(identity.ToArray(), gzip);
    }

    /// <summary>Of an image, which is compressed already.</summary>
    public static ReadyContent OfImage(ReadOnlyMemory<byte> image) => new(image, null);

    /// <summary>Of bytes as they are; gzipped here where that is worth it.</summary>
    public static ReadyContent Of(ReadOnlyMemory<byte> identity)
    {
        if (identity.Length < LeastForGzip)
            return new ReadyContent(identity, null);
        using var gzip = new MemoryStream();
        using (var stream = new GZipStream(gzip, CompressionLevel.Optimal, leaveOpen: true))
            stream.Write(identity.Span);
        return new ReadyContent(identity, gzip.ToArray());
    }
}
