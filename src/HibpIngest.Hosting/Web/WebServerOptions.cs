using HibpIngest.Web;

namespace HibpIngest.Hosting.Web;

/// <summary>Where the API listens, and for whom.</summary>
public sealed record WebServerOptions : ApiOptions
{
    /// <summary>Addresses to listen on.</summary>
    public IReadOnlyList<string> Urls { get; init; } = [DefaultUrl];

    /// <summary>PEM file of the certificate and its key, for addresses that begin with https; HTTP/2 is spoken there too.</summary>
    public string? CertificateFile { get; init; }
}
