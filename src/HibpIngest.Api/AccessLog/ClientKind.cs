namespace HibpIngest.Api.AccessLog;

/// <summary>The client of a request, by the family of its user agent. The numbers are stored: a contract.</summary>
public enum ClientKind : byte
{
    None = 0,

    Other = 1,

    Browser = 2,

    PasswordManager = 3,

    /// <summary>A search engine's crawler or a monitor.</summary>
    Robot = 4,

    /// <summary>curl, wget and similar tools.</summary>
    CommandLine = 5,

    DotNet = 6,

    Python = 7,

    /// <summary>Node and other JavaScript outside a browser.</summary>
    JavaScript = 8,

    Go = 9,

    Java = 10,

    Ruby = 11,

    Php = 12,

    Rust = 13,
}

public static class ClientKinds
{
    // The first match counts: products come before their libraries. Most browsers contain "Mozilla", and so do crawlers.
    private static readonly (string Part, ClientKind Kind)[] Parts =
    [
        ("bitwarden", ClientKind.PasswordManager), ("1password", ClientKind.PasswordManager), ("keepass", ClientKind.PasswordManager),
        ("passbolt", ClientKind.PasswordManager), ("dashlane", ClientKind.PasswordManager), ("lastpass", ClientKind.PasswordManager),
        ("vaultwarden", ClientKind.PasswordManager), ("pass-audit", ClientKind.PasswordManager),
        ("bot", ClientKind.Robot), ("spider", ClientKind.Robot), ("crawler", ClientKind.Robot), ("uptime", ClientKind.Robot),
        ("powershell", ClientKind.DotNet), ("mozilla/", ClientKind.Browser), ("opera/", ClientKind.Browser),
        ("curl/", ClientKind.CommandLine), ("wget/", ClientKind.CommandLine), ("httpie/", ClientKind.CommandLine),
        ("h2load", ClientKind.CommandLine), ("python", ClientKind.Python), ("aiohttp", ClientKind.Python), ("httpx", ClientKind.Python),
        ("pyhibp", ClientKind.Python), (".net", ClientKind.DotNet), ("dotnet", ClientKind.DotNet), ("node", ClientKind.JavaScript),
        ("axios", ClientKind.JavaScript), ("undici", ClientKind.JavaScript), ("hibp ", ClientKind.JavaScript),
        ("go-http-client", ClientKind.Go), ("golang", ClientKind.Go), ("java", ClientKind.Java), ("okhttp", ClientKind.Java),
        ("ruby", ClientKind.Ruby), ("faraday", ClientKind.Ruby), ("php", ClientKind.Php), ("guzzle", ClientKind.Php),
        ("reqwest", ClientKind.Rust), ("hyper/", ClientKind.Rust),
    ];

    // Later characters don't change the family, and the header's length is up to the client.
    private const int MaxExaminedLength = 256;

    /// <summary>Returns the kind for a User-Agent header.</summary>
    public static ClientKind Of(ReadOnlySpan<char> userAgent)
    {
        userAgent = userAgent.Trim();
        if (userAgent.IsEmpty)
            return ClientKind.None;
        if (userAgent.Length > MaxExaminedLength)
            userAgent = userAgent[..MaxExaminedLength];
        foreach (var (part, kind) in Parts)
        {
            if (userAgent.Contains(part, StringComparison.OrdinalIgnoreCase))
                return kind;
        }
        return ClientKind.Other;
    }
}
