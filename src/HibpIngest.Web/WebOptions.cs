using System.ComponentModel.DataAnnotations;
using Microsoft.Extensions.Configuration;

namespace HibpIngest.Web;

/// <summary>How the API answers; read from environment variables with the prefix HIBP_ (HIBP_DOMAINMAX=50000).</summary>
public sealed class WebOptions
{
    /// <summary>
    /// Most accounts of a domain that are told in one answer; a larger domain's owner is told that the plan is too small for
    /// it. A million are some 40 MB of JSON.
    /// </summary>
    [Range(1, int.MaxValue)]
    public int DomainMax { get; set; } = 1_000_000;

    /// <summary>
    /// Proxies of our own that a request passes: the caller's address is then that entry of X-Forwarded-For, counted from the
    /// right. 0: the connection's peer is the caller, and nothing that a header says.
    /// </summary>
    [Range(0, 16)]
    public int Proxies { get; set; }

    /// <summary>
    /// Answers accounts at hibp-integration-tests.com, as Have I Been Pwned does for whoever tests a client: on or off; null:
    /// on where nobody needs a key.
    /// </summary>
    public bool? TestAccounts { get; set; }

    /// <summary>Whether each answered request is logged: on or off; null: on (HIBP_ACCESSLOG).</summary>
    public bool? AccessLog { get; set; }

    /// <summary>
    /// Records of the access log that wait to be written at most, 32 bytes each: what a process loses at most of those that are
    /// written behind the answer, if it is killed.
    /// </summary>
    [Range(1_000, 100_000)]
    [ConfigurationKeyName("ACCESSLOG_BUFFER")]
    public int AccessLogBuffer { get; set; } = 20_000;
}
