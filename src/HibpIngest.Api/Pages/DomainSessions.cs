using System.Buffers.Text;

namespace HibpIngest.Api.Pages;

/// <summary>
/// The cookie of a domain's owner who has signed in: the time at which it expires, the domain, and the HMAC of both. Nothing is stored, so
/// an owner who loses a domain sees it until the cookie expires.
/// </summary>
internal sealed class DomainSessions(PageKey key, ISignIns signIns, TimeProvider time)
{
    public static readonly TimeSpan ValidFor = TimeSpan.FromMinutes(30);

    // The prefix makes browsers refuse it from another host, or without Secure and this path.
    private const string Name = "__Host-hibp-domain";

    private const int SignatureBytes = PageKey.SignatureBytes;

    // Browsers send a Secure cookie to this machine over http, too.
    private static readonly CookieOptions Options =
        new() { HttpOnly = true, Secure = true, SameSite = SameSiteMode.Strict, Path = "/", IsEssential = true };

    /// <returns>False if the link was used, or has expired.</returns>
    public async Task<bool> TryBeginAsync(HttpContext context, string secret, CancellationToken cancellationToken)
    {
        if (await signIns.TakeAsync(secret, cancellationToken) is not { } signIn || signIn.ExpiresAt <= time.GetUtcNow())
            return false;
        Begin(context, signIn.Domain);
        return true;
    }

    private void Begin(HttpContext context, string domain)
    {
        Span<byte> expires = stackalloc byte[sizeof(long)];
        BinaryPrimitives.WriteInt64BigEndian(expires, (time.GetUtcNow() + ValidFor).ToUnixTimeSeconds());
        byte[] content = [.. expires, .. Encoding.ASCII.GetBytes(domain)];
        Span<byte> signature = stackalloc byte[SignatureBytes];
        Sign(content, signature);
        context.Response.Cookies.Append(
            Name, Base64Url.EncodeToString([.. signature, .. content]), new CookieOptions(Options) { MaxAge = ValidFor });
    }

    public string? DomainOf(HttpContext context)
    {
        if (context.Request.Cookies[Name] is not { Length: < 1_000 } text || !Base64Url.IsValid(text, out var length)
            || length <= SignatureBytes + sizeof(long))
        {
            return null;
        }
        ReadOnlySpan<byte> cookie = Base64Url.DecodeFromChars(text);
        var content = cookie[SignatureBytes..];
        Span<byte> signature = stackalloc byte[SignatureBytes];
        Sign(content, signature);
        return CryptographicOperations.FixedTimeEquals(signature, cookie[..SignatureBytes])
            && BinaryPrimitives.ReadInt64BigEndian(content) > time.GetUtcNow().ToUnixTimeSeconds()
            ? Encoding.ASCII.GetString(content[sizeof(long)..]) : null;
    }

    public static void End(HttpContext context) => context.Response.Cookies.Delete(Name, Options);

    private void Sign(ReadOnlySpan<byte> content, Span<byte> signature) => key.Sign("domain session "u8, content, signature);
}
