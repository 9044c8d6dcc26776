using System.ComponentModel.DataAnnotations;
using Microsoft.Extensions.Configuration;

namespace HibpIngest.Api.Settings;

/// <summary>How the API serves requests; read from environment variables with the prefix HIBP_ (HIBP_DOMAINMAX=50000).</summary>
public sealed class WebOptions
{
    /// <summary>
    /// Maximum accounts of a domain in one response; the owner of a larger domain gets an error that the plan is too small. A million
    /// accounts are some 40 MB of JSON.
    /// </summary>
    [Range(1, int.MaxValue)]
    public int DomainMax { get; set; } = 1_000_000;

    /// <summary>
    /// Number of trusted proxies in front of the API: the caller's address is that entry of X-Forwarded-For, counted from the right. 0: the
    /// caller is the connection's peer, and the header is ignored.
    /// </summary>
    [Range(0, 16)]
    public int Proxies { get; set; }

    /// <summary>
    /// True if test accounts at hibp-integration-tests.com are served, as by Have I Been Pwned: on or off. Null means on if no key is
    /// required.
    /// </summary>
    public bool? TestAccounts { get; set; }

    /// <summary>True if requests are written to the access log (HIBP_ACCESSLOG): on or off. Null means on.</summary>
    public bool? AccessLog { get; set; }

    /// <summary>
    /// Keys of links (HIBP_LINK_KEYS), each at least 32 bytes in base64, separated by commas. If null, no pages for people are served.
    /// </summary>
    [ConfigurationKeyName("LINK_KEYS")]
    [KeyList(ErrorMessage = "one or more keys of at least 32 bytes in base64, separated by commas")]
    public string? LinkKeys { get; set; }

    /// <summary>
    /// Key of the tickets with which a page searches (HIBP_TICKET_KEY), at least 32 bytes in base64; the same for all processes that
    /// serve one address. If null, each process makes its own.
    /// </summary>
    [ConfigurationKeyName("TICKET_KEY")]
    [KeyList(ErrorMessage = "a key of at least 32 bytes in base64")]
    public string? TicketKey { get; set; }

    /// <summary>
    /// Key with which people's commands are sealed for the pipeline (HIBP_COMMAND_PUBLIC_KEY), which has the private one. If null, nobody
    /// can subscribe.
    /// </summary>
    [ConfigurationKeyName("COMMAND_PUBLIC_KEY")]
    [CommandPublicKey(ErrorMessage = "a public key, as 'hibp keys generate' makes it")]
    public string? CommandPublicKey { get; set; }

    /// <summary>Name of the service on its pages (HIBP_SERVICE_NAME). If null, the pages use a general one.</summary>
    [ConfigurationKeyName("SERVICE_NAME")]
    public string? ServiceName { get; set; }

    internal bool HasPages => LinkKeys is not null;

    /// <summary>
    /// Maximum records of the access log that wait to be written, 32 bytes each. If the process is killed, at most as many records are lost
    /// of those that are written after the response.
    /// </summary>
    [Range(1_000, 100_000)]
    [ConfigurationKeyName("ACCESSLOG_BUFFER")]
    public int AccessLogBuffer { get; set; } = 20_000;
}
