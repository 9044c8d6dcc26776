using System.Net;
using System.Net.Sockets;

namespace HibpIngest.Web;

internal static class CallerAddress
{
    // What one household or company has: a guesser would else have 2^64 addresses of one network.
    private const int Ipv4Bytes = 3;
    private const int Ipv6Bytes = 7;

    /// <summary>
    /// The connection's peer; behind so many proxies of our own, that entry of X-Forwarded-For, counted from the right: what
    /// stands left of it is the client's to invent. Null where it is not known.
    /// </summary>
    public static IPAddress? Of(HttpContext context, int proxies)
    {
        var peer = context.Connection.RemoteIpAddress;
        if (proxies == 0)
            return peer;
        var entries = string.Join(',', context.Request.Headers["X-Forwarded-For"].ToArray()).Split(',', StringSplitOptions.TrimEntries);
        return entries.Length >= proxies && Parse(entries[^proxies]) is { } address ? address : peer;
    }

    /// <summary>The network of an address, /24 or /56, for counting what comes from it; in memory alone.</summary>
    public static string NetworkOf(IPAddress? address)
    {
        if (address is null)
            return "";
        if (address.IsIPv4MappedToIPv6)
            address = address.MapToIPv4();
        var bytes = address.GetAddressBytes();
        return Convert.ToHexString(bytes, 0, address.AddressFamily == AddressFamily.InterNetwork ? Ipv4Bytes : Ipv6Bytes);
    }

    /// <summary>An address, with its port or without.</summary>
    private static IPAddress? Parse(string entry) =>
        IPAddress.TryParse(entry, out var address) ? address : IPEndPoint.TryParse(entry, out var end) ? end.Address : null;
}
