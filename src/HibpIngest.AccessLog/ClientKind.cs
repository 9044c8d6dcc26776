namespace HibpIngest.AccessLog;

/// <summary>What a request was made with, by the family of its user-agent. The numbers are stored: a contract.</summary>
public enum ClientKind : byte
{
    None = 0,

    Other = 1,

    Browser = 2,

    PasswordManager = 3,

    /// <summary>A search engine's robot, or a monitor.</summary>
    Robot = 4,

    /// <summary>curl, wget and the like.</summary>
    CommandLine = 5,

    DotNet = 6,

    Python = 7,

    /// <summary>Node and other JavaScript outside a browser.</summary>
    JavaScript = 8,

    Go = 9,

    /// <summary>Java and its kin.</summary>
    Java = 10,

    Ruby = 11,

    Php = 12,

    Rust = 13,
}

public static class ClientKinds
{
    // The first that is found counts: what names a product before what names the library that it was made with. Most browsers say
    // Mozilla, and so do robots.
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

    // What is behind it says nothing more of the family, and is no reason to look long.
    private const int LongestLookedAt = 256;

    /// <summary>Of a user-agent header.</summary>
    public static ClientKind Of(ReadOnlySpan<char> userAgent)
    {
        userAgent = userAgent.Trim();
        if (userAgent.IsEmpty)
            return ClientKind.None;
        if (userAgent.Length > LongestLookedAt)
            userAgent = userAgent[..LongestLookedAt];
        foreach (var (part, kind) in Parts)
        {
            if (userAgent.Contains(part, StringComparison.OrdinalIgnoreCase))
                return kind;
        }
        return ClientKind.Other;
    }
}
