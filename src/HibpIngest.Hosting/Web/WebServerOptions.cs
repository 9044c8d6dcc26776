using HibpIngest.Api.Settings;

namespace HibpIngest.Hosting.Web;

/// <summary>Where the API listens, and for which callers.</summary>
public sealed record WebServerOptions : ApiOptions
{
    public IReadOnlyList<string> Urls { get; init; } = [DefaultUrl];

    /// <summary>PEM file of the certificate and its key, for https addresses; these also accept HTTP/2.</summary>
    public string? CertificateFile { get; init; }
}
