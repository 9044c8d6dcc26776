using System.Security.Cryptography;

namespace HibpIngest.Api.Pages;

/// <summary>Signs what a browser brings back (HIBP_TICKET_KEY); without the setting, by a key that ends with the process.</summary>
internal sealed class PageKey(ApiOptions options)
{
    public const int SignatureBytes = 16;

    private readonly byte[] _key = options.Web.TicketKey is { } key ? KeyText.Parse(key)! : RandomNumberGenerator.GetBytes(32);

    /// <param name="purpose">Keeps it apart from other uses of the key.</param>
    public void Sign(ReadOnlySpan<byte> purpose, ReadOnlySpan<byte> content, Span<byte> signature)
    {
        Span<byte> hash = stackalloc byte[HMACSHA256.HashSizeInBytes];
        HMACSHA256.HashData(_key, [.. purpose, .. content], hash);
        hash[..SignatureBytes].CopyTo(signature);
    }
}
