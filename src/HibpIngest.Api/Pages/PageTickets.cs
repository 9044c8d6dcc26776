using System.Buffers;
using System.Buffers.Text;
using Microsoft.Extensions.Caching.Memory;

namespace HibpIngest.Api.Pages;

/// <summary>
/// Tickets, one in each page, with which the page's script searches: so that the search serves people with a browser, and isn't an API
/// without a key. A ticket is the time at which it expires, a random number and the HMAC of both with the caller's network. It holds
/// nothing else.
/// </summary>
internal sealed class PageTickets(PageKey key, TimeProvider time) : IDisposable
{
    /// <summary>Prefixes that may be searched with one ticket; counted by each process for itself.</summary>
    public const int MaxSearches = 20;

    public static readonly TimeSpan ValidFor = TimeSpan.FromMinutes(10);

    private const int StampBytes = 16;
    private const int SignatureBytes = PageKey.SignatureBytes;

    // Beyond this, tickets are refused until others expire: some 100 bytes each.
    private const int MaxTickets = 200_000;

    private readonly MemoryCache _used = new(new MemoryCacheOptions { SizeLimit = MaxTickets });

    public string Create(string network)
    {
        Span<byte> ticket = stackalloc byte[StampBytes + SignatureBytes];
        BinaryPrimitives.WriteInt64BigEndian(ticket, (time.GetUtcNow() + ValidFor).ToUnixTimeSeconds());
        RandomNumberGenerator.Fill(ticket[sizeof(long)..StampBytes]);
        Sign(ticket[..StampBytes], network, ticket[StampBytes..]);
        return Base64Url.EncodeToString(ticket);
    }

    /// <summary>Uses a ticket for one search. Returns false if it is another network's, has expired, or is used up.</summary>
    public bool TryUse(string? text, string network)
    {
        Span<byte> ticket = stackalloc byte[StampBytes + SignatureBytes];
        if (Base64Url.DecodeFromChars(text, ticket, out _, out var written) != OperationStatus.Done || written != ticket.Length)
            return false;
        Span<byte> signature = stackalloc byte[SignatureBytes];
        Sign(ticket[..StampBytes], network, signature);
        var expires = DateTimeOffset.FromUnixTimeSeconds(
            Math.Clamp(BinaryPrimitives.ReadInt64BigEndian(ticket), 0, DateTimeOffset.MaxValue.ToUnixTimeSeconds()));
        if (!CryptographicOperations.FixedTimeEquals(signature, ticket[StampBytes..]) || expires <= time.GetUtcNow())
            return false;
        var uses = _used.GetOrCreate(text!, entry =>
        {
            (entry.Size, entry.AbsoluteExpirationRelativeToNow) = (1, ValidFor);
            return new Uses();
        })!;
        // A count that the full cache could not keep would not limit anything.
        return _used.TryGetValue(text!, out _) && Interlocked.Increment(ref uses.Count) <= MaxSearches;
    }

    public void Dispose() => _used.Dispose();

    private void Sign(ReadOnlySpan<byte> stamp, string network, Span<byte> signature) =>
        key.Sign("page ticket "u8, [.. stamp, .. Encoding.ASCII.GetBytes(network)], signature);

    private sealed class Uses
    {
        public int Count;
    }
}
