using System.Collections;
using HibpIngest.Pipeline.Settings;

namespace HibpIngest.Tests.Catalogue;

public sealed class WebAddressTests
{
    [Theory]
    [InlineData(null, "http://127.0.0.1:8080")]
    [InlineData("https://breaches.example.com/", "https://breaches.example.com")]
    [InlineData("https://example.com/breaches//", "https://example.com/breaches")]
    [InlineData("HTTPS://Example.com:443", "https://example.com")]
    public void WebUrl_is_the_normalized_setting(string? setting, string expected) =>
        Assert.Equal(expected, Read(setting).Get<SiteOptions>().WebUrl);

    [Theory]
    [InlineData("example.com")]
    [InlineData("/web")]
    [InlineData("ftp://example.com")]
    [InlineData("https://user@example.com")]
    [InlineData("https://example.com/?a=b")]
    [InlineData("https://example.com/#a")]
    public void An_invalid_HIBP_WEB_URL_is_rejected_by_name(string setting) =>
        Assert.StartsWith(
            "HIBP_WEB_URL: expected", Assert.Throws<WrongSettingsException>(() => Read(setting)).Message, StringComparison.Ordinal);

    private static PipelineSettings Read(string? setting) =>
        PipelineSettings.Read(null, null, setting is null ? new Hashtable() : new Hashtable { ["HIBP_WEB_URL"] = setting });
}
