using HibpIngest.Passwords.Serving;

namespace HibpIngest.Api.Settings;

/// <summary>How a host serves the API.</summary>
public record ApiOptions
{
    public const string DefaultUrl = "http://127.0.0.1:8080";

    /// <summary>True if no key is required; only for a server that no other machine can reach.</summary>
    public bool IsOpen { get; init; }

    /// <summary>True if every request is logged before its response: for hosts that may stop or freeze a process after it.</summary>
    public bool IsAllDurable { get; init; }

    /// <summary>The public base address of links (HIBP_WEB_URL).</summary>
    public string Address { get; init; } = DefaultUrl;

    /// <summary>Limits, proxies, test accounts and the access log. Here because it decides which services exist.</summary>
    public WebOptions Web { get; init; } = new();

    /// <summary>Backend, cache and caching headers of Pwned Passwords. Here because it decides which routes exist.</summary>
    public PasswordOptions Passwords { get; init; } = new();

    /// <summary>True if people can subscribe: a link works, and the pipeline can be told.</summary>
    internal bool HasSubscriptions => Web is { HasPages: true, CommandPublicKey: not null } && WebAddress.CarriesLinks(Address);

    internal bool IsHttps => Address.StartsWith("https:", StringComparison.OrdinalIgnoreCase);
}
