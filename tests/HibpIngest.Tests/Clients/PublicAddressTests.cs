using System.Net;
using HibpIngest.Pipeline.Callbacks;

namespace HibpIngest.Tests.Clients;

/// <summary>Tests which addresses a client's URL may have.</summary>
public sealed class PublicAddressTests
{
    [Theory]
    [InlineData("0.0.0.0")]
    [InlineData("0.255.255.255")]
    [InlineData("10.0.0.0")]
    [InlineData("10.255.255.255")]
    [InlineData("100.64.0.0")]
    [InlineData("100.100.100.200")] // a cloud's metadata
    [InlineData("100.127.255.255")]
    [InlineData("127.0.0.1")]
    [InlineData("127.255.255.255")]
    [InlineData("168.63.129.16")]
    [InlineData("169.254.0.0")]
    [InlineData("169.254.169.254")]
    [InlineData("169.254.255.255")]
    [InlineData("172.16.0.0")]
    [InlineData("172.31.255.255")]
    [InlineData("192.0.0.192")]
    [InlineData("192.0.2.1")]
    [InlineData("192.31.196.1")]
    [InlineData("192.52.193.1")]
    [InlineData("192.88.99.1")]
    [InlineData("192.168.0.0")]
    [InlineData("192.168.255.255")]
    [InlineData("192.175.48.1")]
    [InlineData("198.18.0.0")]
    [InlineData("198.19.255.255")]
    [InlineData("198.51.100.1")]
    [InlineData("203.0.113.1")]
    [InlineData("224.0.0.0")]
    [InlineData("239.255.255.255")]
    [InlineData("240.0.0.0")]
    [InlineData("255.255.255.255")]
    [InlineData("::")]
    [InlineData("::1")]
    [InlineData("::7f00:1")] // IPv4-compatible
    [InlineData("::ffff:10.0.0.1")]
    [InlineData("::ffff:127.0.0.1")]
    [InlineData("::ffff:169.254.169.254")]
    [InlineData("::ffff:8.8.8.8%1")]
    [InlineData("::ffff:0:7f00:1")] // IPv4-translated
    [InlineData("::ffff:0:808:808")]
    [InlineData("64:ff9b::7f00:1")] // NAT64
    [InlineData("64:ff9b::808:808")]
    [InlineData("64:ff9b:1::1")]
    [InlineData("100::1")]
    [InlineData("100:0:0:1::1")]
    [InlineData("1fff:ffff::1")]
    [InlineData("2001::1")] // Teredo
    [InlineData("2001:20::1")]
    [InlineData("2001:1ff:ffff::1")]
    [InlineData("2001:db8::1")]
    [InlineData("2001:db8:ffff::1")]
    [InlineData("2002:7f00:1::1")] // 6to4
    [InlineData("2002:808:808::1")]
    [InlineData("2606:4700:4700::1111%2")]
    [InlineData("2620:4f:8000::1")]
    [InlineData("3fff::1")]
    [InlineData("3fff:fff::1")]
    [InlineData("4000::1")]
    [InlineData("5f00::1")]
    [InlineData("fc00::1")]
    [InlineData("fd00:ec2::254")] // a cloud's metadata
    [InlineData("fe80::1")]
    [InlineData("fe80::1%1")]
    [InlineData("fec0::1")]
    [InlineData("ff02::1")]
    public void Special_purpose_address_is_not_public(string address) => Assert.False(PublicAddress.IsPublic(IPAddress.Parse(address)));

    [Theory]
    [InlineData("1.0.0.0")]
    [InlineData("8.8.8.8")]
    [InlineData("9.255.255.255")]
    [InlineData("11.0.0.0")]
    [InlineData("93.184.216.34")]
    [InlineData("100.63.255.255")]
    [InlineData("100.128.0.0")]
    [InlineData("126.255.255.255")]
    [InlineData("128.0.0.0")]
    [InlineData("168.63.129.15")]
    [InlineData("168.63.129.17")]
    [InlineData("169.253.255.255")]
    [InlineData("169.255.0.0")]
    [InlineData("172.15.255.255")]
    [InlineData("172.32.0.0")]
    [InlineData("192.0.1.0")]
    [InlineData("192.0.3.0")]
    [InlineData("192.167.255.255")]
    [InlineData("192.169.0.0")]
    [InlineData("198.17.255.255")]
    [InlineData("198.20.0.0")]
    [InlineData("223.255.255.255")]
    [InlineData("::ffff:8.8.8.8")]
    [InlineData("2001:200::1")]
    [InlineData("2001:4860:4860::8888")]
    [InlineData("2001:db7:ffff::1")]
    [InlineData("2001:db9::1")]
    [InlineData("2003::1")]
    [InlineData("2606:4700:4700::1111")]
    [InlineData("2a00:1450:4001::1")]
    [InlineData("3fff:1000::1")]
    public void Ordinary_address_is_public(string address) => Assert.True(PublicAddress.IsPublic(IPAddress.Parse(address)));

    [Theory]
    [InlineData("https://127.0.0.1/", "127.0.0.1")]
    [InlineData("https://127.0.0.1./", "127.0.0.1")]
    [InlineData("https://127.1/", "127.0.0.1")]
    [InlineData("https://2130706433/", "127.0.0.1")]
    [InlineData("https://0x7f.1/", "127.0.0.1")]
    [InlineData("https://0x7f000001/", "127.0.0.1")]
    [InlineData("https://0177.0.0.1/", "127.0.0.1")]
    [InlineData("https://\uFF11\uFF12\uFF17.0.0.1/", "127.0.0.1")]
    [InlineData("https://127\u30020\uFF0E0\uFF611/", "127.0.0.1")]
    [InlineData("https://169.254.169.254:8443/latest", "169.254.169.254")]
    [InlineData("https://[::1]/", "::1")]
    [InlineData("https://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1")]
    [InlineData("https://[64:ff9b::7f00:1]/", "64:ff9b::")]
    [InlineData("https://[fe80::1%1]/", "fe80::1")]
    [InlineData("https://localhost/", "localhost")]
    [InlineData("https://LocalHost.:8443/", "localhost")]
    [InlineData("https://business.localhost/", "localhost")]
    public async Task Client_url_with_a_non_public_host_is_refused(string url, string named)
    {
        var reason = PublicAddress.ReasonAgainst(new Uri(url));
        Assert.NotNull(reason);
        Assert.StartsWith(named, reason, StringComparison.Ordinal);
        Assert.EndsWith("is not a public address", reason, StringComparison.Ordinal);

        var refusal = await RefusalOfAsync(url);
        Assert.StartsWith("--url is expected to lead to a public address, and ", refusal, StringComparison.Ordinal);
        Assert.EndsWith(reason, refusal, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("https://contoso.example/breached")]
    [InlineData("https://localhost.example/")]
    [InlineData("https://notlocalhost/")]
    [InlineData("https://93.184.216.34/")]
    [InlineData("https://[2606:4700:4700::1111]:8443/")]
    public async Task Client_url_with_any_other_host_is_accepted(string url)
    {
        Assert.Null(PublicAddress.ReasonAgainst(new Uri(url)));
        // The URL is accepted: the next error is the missing secret key.
        Assert.Contains("HIBP_SECRET_KEY", await RefusalOfAsync(url), StringComparison.Ordinal);
    }

    // The URL is checked before any store is used.
    private static async Task<string> RefusalOfAsync(string url) => (await Assert.ThrowsAsync<BadInputException>(
        () => new ClientOperations(null!, null!, null!, null, TimeProvider.System).AddAsync("contoso", url, false, 4, 1_000, default)))
        .Message;
}
