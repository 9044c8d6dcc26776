using HibpIngest.Passwords;

namespace HibpIngest.Web;

/// <summary>How a host serves the API.</summary>
public record ApiOptions
{
    /// <summary>The default address: this machine only.</summary>
    public const string DefaultUrl = "http://127.0.0.1:8080";

    /// <summary>No key is required; only for a server that no other machine reaches.</summary>
    public bool IsOpen { get; init; }

    /// <summary>Every request is logged before its response: for a host that may stop or freeze a process after a response.</summary>
    public bool IsAllDurable { get; init; }

    /// <summary>The public address, which links are made from (HIBP_WEB_URL).</summary>
    public string Address { get; init; } = DefaultUrl;

    /// <summary>Limits, proxies, test accounts and the access log. Here because it decides which services exist.</summary>
    public WebOptions Web { get; init; } = new();

    /// <summary>Backend, cache and caching headers of Pwned Passwords. Here because it decides which routes exist.</summary>
    public PasswordOptions Passwords { get; init; } = new();

    internal bool IsHttps => Address.StartsWith("https:", StringComparison.OrdinalIgnoreCase);
}
