using System.Net;
using System.Net.Sockets;

namespace HibpIngest.Api.Callers;

internal static class CallerAddress
{
    // A household or a company with IPv6 has at least 2^64 addresses, so limits apply to networks.
    private const int Ipv4NetworkBytes = 3;
    private const int Ipv6NetworkBytes = 7;

    /// <summary>
    /// Returns the connection's peer or, with <paramref name="proxies"/> trusted proxies, that entry of X-Forwarded-For, counted from the
    /// right: the client can forge the entries to its left. The peer too if that entry is missing or malformed.
    /// </summary>
    public static IPAddress? Of(HttpContext context, int proxies)
    {
        var peer = context.Connection.RemoteIpAddress;
        if (proxies == 0)
            return peer;
        var entries = string.Join(',', context.Request.Headers["X-Forwarded-For"].ToArray()).Split(',', StringSplitOptions.TrimEntries);
        return entries.Length >= proxies && Parse(entries[^proxies]) is { } address ? address : peer;
    }

    /// <summary>
    /// Returns the network of an address, /24 or /56, in hex, for rate limits; empty for null. It is stored only encrypted or as a keyed
    /// hash (docs/people.md).
    /// </summary>
    public static string NetworkOf(IPAddress? address)
    {
        if (address is null)
            return "";
        if (address.IsIPv4MappedToIPv6)
            address = address.MapToIPv4();
        var bytes = address.GetAddressBytes();
        return Convert.ToHexString(bytes, 0, address.AddressFamily == AddressFamily.InterNetwork ? Ipv4NetworkBytes : Ipv6NetworkBytes);
    }

    private static IPAddress? Parse(string entry) =>
        IPAddress.TryParse(entry, out var address) ? address : IPEndPoint.TryParse(entry, out var end) ? end.Address : null;
}
