namespace HibpIngest.Api.Requests;

internal static class UserAgent
{
    private const string Host = "Azure-Functions-Host/";

    /// <summary>Returns the client's user agent, without what a Functions host appends to it, or sends if the client sent none.</summary>
    public static ReadOnlySpan<char> Of(HttpRequest request)
    {
        var agent = request.Headers.UserAgent.ToString().AsSpan().Trim();
        var host = agent.LastIndexOf(Host, StringComparison.Ordinal);
        return host >= 0 && !agent[host..].Contains(' ') ? agent[..host].Trim() : agent;
    }
}
