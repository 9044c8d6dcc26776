using System.Diagnostics.CodeAnalysis;
using System.Security.Cryptography;

namespace HibpIngest.Passwords.Ranges;

/// <summary>The body of a range's response, and its digests.</summary>
/// <param name="Md5">Content-MD5 (RFC 1864): base64.</param>
/// <param name="ETag">Strong. Made of the same digest, so that equal bytes have the same ETag in any release and on any server.</param>
public sealed record RangeBody(ReadOnlyMemory<byte> Bytes, bool IsGzip, string Md5, string ETag)
{
    /// <param name="md5">The digest of the bytes, if known; null: it is computed.</param>
    [SuppressMessage(
        "Security", "CA5351:Do Not Use Broken Cryptographic Algorithms", Justification = "a digest against damage, which protects nothing")]
    public static RangeBody Of(ReadOnlyMemory<byte> bytes, bool isGzip, byte[]? md5 = null)
    {
        Span<byte> digest = stackalloc byte[MD5.HashSizeInBytes];
        if (md5 is null)
            MD5.HashData(bytes.Span, digest);
        else
            md5.CopyTo(digest);
        return new RangeBody(bytes, isGzip, Convert.ToBase64String(digest), $"\"{Convert.ToHexStringLower(digest)}\"");
    }
}
