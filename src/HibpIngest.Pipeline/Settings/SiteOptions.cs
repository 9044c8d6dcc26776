using Microsoft.Extensions.Configuration;

namespace HibpIngest.Pipeline.Settings;

public sealed class SiteOptions
{
    /// <summary>Public address of the API, without a trailing slash. Links in responses use it, never the request's Host header.</summary>
    [ConfigurationKeyName("WEB_URL")]
    public string WebUrl { get; set; } = "http://127.0.0.1:8080";
}
