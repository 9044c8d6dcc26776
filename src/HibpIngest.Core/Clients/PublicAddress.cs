using System.Net;
using System.Net.Sockets;

namespace HibpIngest.Clients;

/// <summary>
/// Decides which addresses a client may be called at: only publicly reachable ones, so that a client can't make our host call what only
/// that host can reach (SSRF). All networks in IANA's special-purpose registries
/// (https://www.iana.org/assignments/iana-ipv4-special-registry and https://www.iana.org/assignments/iana-ipv6-special-registry) are
/// refused, including the few that are globally reachable: they are services of the network itself (anycast), never a client.
/// </summary>
public static class PublicAddress
{
    private static readonly IPNetwork[] NotPublic4 =
    [
        IPNetwork.Parse("0.0.0.0/8"),       // this network
        IPNetwork.Parse("10.0.0.0/8"),      // private
        IPNetwork.Parse("100.64.0.0/10"),   // shared, carrier-grade NAT
        IPNetwork.Parse("127.0.0.0/8"),     // loopback
        IPNetwork.Parse("169.254.0.0/16"),  // link-local, including cloud metadata services
        IPNetwork.Parse("172.16.0.0/12"),   // private
        IPNetwork.Parse("192.0.0.0/24"),    // protocol assignments
        IPNetwork.Parse("192.0.2.0/24"),    // documentation
        IPNetwork.Parse("192.31.196.0/24"), // AS112
        IPNetwork.Parse("192.52.193.0/24"), // AMT
        IPNetwork.Parse("192.88.99.0/24"),  // 6to4 relays
        IPNetwork.Parse("192.168.0.0/16"),  // private
        IPNetwork.Parse("192.175.48.0/24"), // AS112
        IPNetwork.Parse("198.18.0.0/15"),   // benchmarks
        IPNetwork.Parse("198.51.100.0/24"), // documentation
        IPNetwork.Parse("203.0.113.0/24"),  // documentation
        IPNetwork.Parse("224.0.0.0/4"),     // multicast
        IPNetwork.Parse("240.0.0.0/4"),     // reserved, broadcast
        // In no registry, but on Azure this is the host of every virtual machine and the server of its agent:
        // https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
        IPNetwork.Parse("168.63.129.16/32"),
    ];

    // The global unicast range. It excludes loopback, mapped, translated (64:ff9b::), unique local, link-local and multicast.
    private static readonly IPNetwork Unicast6 = IPNetwork.Parse("2000::/3");

    private static readonly IPNetwork[] NotPublic6 =
    [
        IPNetwork.Parse("2001::/23"),         // protocol assignments, including Teredo, which embeds an IPv4 address
        IPNetwork.Parse("2001:db8::/32"),     // documentation
        IPNetwork.Parse("2002::/16"),         // 6to4, which embeds an IPv4 address
        IPNetwork.Parse("2620:4f:8000::/48"), // AS112
        IPNetwork.Parse("3fff::/20"),         // documentation
    ];

    /// <summary>Returns whether an address is publicly reachable. An IPv4-mapped IPv6 address is judged by its IPv4 address.</summary>
    public static bool IsPublic(IPAddress address)
    {
        // A scope id names an interface of this machine.
        if (address.AddressFamily == AddressFamily.InterNetworkV6 && address.ScopeId != 0)
            return false;
        if (address.IsIPv4MappedToIPv6)
            address = address.MapToIPv4();
        return address.AddressFamily switch
        {
            AddressFamily.InterNetwork => !Array.Exists(NotPublic4, network => network.Contains(address)),
            AddressFamily.InterNetworkV6 => Unicast6.Contains(address) && !Array.Exists(NotPublic6, network => network.Contains(address)),
            _ => false,
        };
    }

    /// <summary>
    /// Checks a URL before its name is resolved: rejects localhost, and a host that is a non-public address in any notation (for example
    /// 0x7f.1). The addresses that a name resolves to are checked when it is called.
    /// </summary>
    /// <param name="url">An absolute URL.</param>
    /// <returns>A clause such as "127.0.0.1 is not a public address"; null if nothing was found.</returns>
    public static string? ReasonAgainst(Uri url)
    {
        // Not Host, which leaves digits of other scripts unchanged. A name may end in the root's dot.
        var host = url.IdnHost.TrimEnd('.');
        if (IPAddress.TryParse(host, out var address))
            return IsPublic(address) ? null : $"{address} is not a public address";
        const string local = "localhost";
        return host.Equals(local, StringComparison.OrdinalIgnoreCase) || host.EndsWith("." + local, StringComparison.OrdinalIgnoreCase)
            ? $"{local} is not a public address" : null;
    }
}
