using Microsoft.Extensions.Configuration;

namespace HibpIngest.Pipeline;

/// <summary>Where people reach the API.</summary>
public sealed class SiteOptions
{
    /// <summary>
    /// Public address of the API, without a slash at the end. Every link in a response is made from it, never from the request's Host
    /// header.
    /// </summary>
    [ConfigurationKeyName("WEB_URL")]
    public string WebUrl { get; set; } = "http://127.0.0.1:8080";
}
