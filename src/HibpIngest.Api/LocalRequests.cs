namespace HibpIngest.Api;

/// <summary>Distinguishes requests sent directly by a client on this machine from those that a proxy forwarded.</summary>
public static class LocalRequests
{
    // Any other header with this prefix (X-Forwarded-Host, -Proto, -Server) is from a proxy too.
    private const string ForwardedPrefix = "X-Forwarded-";

    private static readonly string[] ProxyHeaders = ["Forwarded", "Via", "X-Real-IP"];

    /// <summary>
    /// Returns whether the request's Host is this machine and nothing shows a proxy. Routes that are open without a key, and the
    /// operator's, serve only such requests: behind a proxy every caller is local, and a page of another site may address this machine by a
    /// name of its own. HTTP/1.0 is refused because nginx's default <c>proxy_pass</c> uses it, sets Host to the address of its upstream and
    /// adds no header. A proxy that speaks HTTP/1.1 and adds no header can't be distinguished from a local caller.
    /// </summary>
    public static bool IsDirect(HttpRequest request) =>
        request.Host.Host.ToLowerInvariant() is "localhost" or "127.0.0.1" or "[::1]"
        && !HttpProtocol.IsHttp10(request.Protocol)
        && !ProxyHeaders.Any(request.Headers.ContainsKey)
        && !request.Headers.Keys.Any(name => name.StartsWith(ForwardedPrefix, StringComparison.OrdinalIgnoreCase));
}
