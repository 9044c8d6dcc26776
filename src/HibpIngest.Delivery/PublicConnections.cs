using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;

namespace HibpIngest.Delivery;

/// <summary>
/// HTTP connections to servers that others have named, at public addresses only (<see cref="PublicAddress"/>): a name is resolved once for
/// a connection, all resulting addresses are checked, and the connection goes to one of them. Connections are reused for at most a minute.
/// No proxy, redirect, cookie or trace header.
/// </summary>
/// <param name="allowsLoopback">For tests: also allows loopback addresses.</param>
/// <param name="resolve">Resolves a host name; if null, system DNS.</param>
/// <param name="connect">Connects to one of these addresses, at a port; if null, over the network.</param>
internal sealed class PublicConnections(
    bool allowsLoopback, Func<string, CancellationToken, Task<IPAddress[]>>? resolve = null,
    Func<IPAddress[], int, CancellationToken, Task<Stream>>? connect = null)
{
    public const int MaxHeaderKilobytes = 64;

    // Less than the timeout of a call, so that the error shows which of the two expired.
    public static readonly TimeSpan ConnectTimeout = TimeSpan.FromSeconds(5);

    public SocketsHttpHandler CreateHandler(X509Certificate2Collection? trustedRoots = null)
    {
        var handler = new SocketsHttpHandler
        {
            // A proxy would resolve names itself, and connect to an unchecked address.
            UseProxy = false,
            AllowAutoRedirect = false,
            UseCookies = false,
            AutomaticDecompression = DecompressionMethods.None,
            // No propagator means no activity: no trace contains a client's address, and no client gets a trace id.
            ActivityHeadersPropagator = null,
            // So that DNS changes are picked up.
            PooledConnectionLifetime = TimeSpan.FromMinutes(1),
            // Apache and Node close theirs after 5 s: a call into a connection that is being closed is lost.
            PooledConnectionIdleTimeout = TimeSpan.FromSeconds(4),
            ConnectTimeout = ConnectTimeout,
            ConnectCallback = OpenAsync,
            MaxResponseHeadersLength = MaxHeaderKilobytes,
            // When a response is abandoned, everything needed has been read: the connection is closed at once.
            MaxResponseDrainSize = 0,
        };
        if (trustedRoots is not null)
        {
            handler.SslOptions.CertificateChainPolicy =
                new X509ChainPolicy { TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck };
            handler.SslOptions.CertificateChainPolicy.CustomTrustStore.AddRange(trustedRoots);
        }
        return handler;
    }

    private async ValueTask<Stream> OpenAsync(SocketsHttpConnectionContext context, CancellationToken cancellationToken)
    {
        // Resolved only once: a second lookup could return an unchecked address.
        var host = context.DnsEndPoint.Host;
        var addresses = IPAddress.TryParse(host, out var literal) ? [literal]
            : await (resolve ?? Dns.GetHostAddressesAsync)(host, cancellationToken);
        if (addresses.Length == 0)
            throw new SocketException((int)SocketError.NoData);
        foreach (var address in addresses)
        {
            if (!PublicAddress.IsPublic(address) && !(allowsLoopback && IsLoopback(address)))
                throw new ForbiddenAddressException(address);
        }
        return await (connect ?? ConnectAsync)(addresses, context.DnsEndPoint.Port, cancellationToken);
    }

    // The framework recognises only one loopback address among the IPv4-mapped ones.
    private static bool IsLoopback(IPAddress address) =>
        IPAddress.IsLoopback(address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address);

    private static async Task<Stream> ConnectAsync(IPAddress[] addresses, int port, CancellationToken cancellationToken)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(addresses, port, cancellationToken);
            return new NetworkStream(socket, ownsSocket: true);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }
}

internal sealed class ForbiddenAddressException(IPAddress address) : Exception($"{address} is not a public address")
{
    public IPAddress Address => address;
}
