namespace HibpIngest.Api.Pages;

/// <summary>Signs tickets and sessions that a browser sends back, with HIBP_TICKET_KEY or else a key of this process.</summary>
internal sealed class PageKey(ApiOptions options)
{
    public const int SignatureBytes = 16;

    private readonly byte[] _key = options.Web.TicketKey is { } key ? KeyText.Parse(key)! : RandomNumberGenerator.GetBytes(32);

    /// <param name="purpose">Name of the use, so that a signature isn't valid for another use of the key.</param>
    public void Sign(ReadOnlySpan<byte> purpose, ReadOnlySpan<byte> content, Span<byte> signature)
    {
        Span<byte> hash = stackalloc byte[HMACSHA256.HashSizeInBytes];
        HMACSHA256.HashData(_key, [.. purpose, .. content], hash);
        hash[..SignatureBytes].CopyTo(signature);
    }
}
