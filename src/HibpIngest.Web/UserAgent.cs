namespace HibpIngest.Web;

internal static class UserAgent
{
    private const string Host = "Azure-Functions-Host/";

    /// <summary>What a Functions host appends, or sends where the client said nothing, is not the client's.</summary>
    public static ReadOnlySpan<char> Of(HttpRequest request)
    {
        var agent = request.Headers.UserAgent.ToString().AsSpan().Trim();
        var host = agent.LastIndexOf(Host, StringComparison.Ordinal);
        return host >= 0 && !agent[host..].Contains(' ') ? agent[..host].Trim() : agent;
    }
}
