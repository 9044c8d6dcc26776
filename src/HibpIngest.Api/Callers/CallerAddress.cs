using System.Net;
using System.Net.Sockets;

namespace HibpIngest.Api.Callers;

internal static class CallerAddress
{
    // Network sizes of one household or company: else a guesser would have 2^64 addresses in one network.
    private const int Ipv4Bytes = 3;
    private const int Ipv6Bytes = 7;

    /// <summary>
    /// Returns the connection's peer or, with <paramref name="proxies"/> trusted proxies, that entry of X-Forwarded-For, counted from the
    /// right: the client can forge the entries to its left.
    /// </summary>
    public static IPAddress? Of(HttpContext context, int proxies)
    {
        var peer = context.Connection.RemoteIpAddress;
        if (proxies == 0)
            return peer;
        var entries = string.Join(',', context.Request.Headers["X-Forwarded-For"].ToArray()).Split(',', StringSplitOptions.TrimEntries);
        return entries.Length >= proxies && Parse(entries[^proxies]) is { } address ? address : peer;
    }

    /// <summary>Returns the network of an address, /24 or /56, for rate limits; it is kept in memory only.</summary>
    public static string NetworkOf(IPAddress? address)
    {
        if (address is null)
            return "";
        if (address.IsIPv4MappedToIPv6)
            address = address.MapToIPv4();
        var bytes = address.GetAddressBytes();
        return Convert.ToHexString(bytes, 0, address.AddressFamily == AddressFamily.InterNetwork ? Ipv4Bytes : Ipv6Bytes);
    }

    private static IPAddress? Parse(string entry) =>
        IPAddress.TryParse(entry, out var address) ? address : IPEndPoint.TryParse(entry, out var end) ? end.Address : null;
}
