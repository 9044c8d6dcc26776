using HibpIngest.Passwords;
using HibpIngest.Web;

namespace HibpIngest.Hosting.Web;

/// <summary>Where the API listens, and for whom.</summary>
public sealed record WebServerOptions
{
    /// <summary>On this machine, for this machine.</summary>
    public const string DefaultUrl = "http://127.0.0.1:8080";

    /// <summary>Addresses to listen on.</summary>
    public IReadOnlyList<string> Urls { get; init; } = [DefaultUrl];

    /// <summary>PEM file of the certificate and its key, for addresses that begin with https; HTTP/2 is spoken there too.</summary>
    public string? CertificateFile { get; init; }

    /// <summary>Nobody needs a key; then only loopback is listened on.</summary>
    public bool IsOpen { get; init; }

    /// <summary>Where people reach it; what links are made of (HIBP_WEB_URL).</summary>
    public string Address { get; init; } = DefaultUrl;

    /// <summary>How it answers.</summary>
    public WebOptions Web { get; init; } = new();

    /// <summary>How it serves Pwned Passwords.</summary>
    public PasswordOptions Passwords { get; init; } = new();
}
