namespace HibpIngest.Web;

/// <summary>Which requests are from a client on this machine that asks it directly.</summary>
public static class LocalRequests
{
    /// <summary>
    /// Behind a proxy everybody is local, and a page of another site may name this machine by a name of its own: whatever is
    /// open without a key, or for operators, is for those alone that name it as itself and came through nothing.
    /// </summary>
    public static bool IsDirect(HttpRequest request) =>
        request.Host.Host.ToLowerInvariant() is "localhost" or "127.0.0.1" or "[::1]"
        && !request.Headers.ContainsKey("X-Forwarded-For") && !request.Headers.ContainsKey("Forwarded");
}
