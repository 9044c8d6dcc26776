using HibpIngest.Pipeline.Callbacks;

namespace HibpIngest.Tests.Clients;

public sealed class PublicAddressTests
{
    public static TheoryData<string> SpecialPurpose =>
    [
        "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1", "127.255.255.255",
        "168.63.129.16", "169.254.0.0", "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.31.196.1",
        "192.52.193.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "192.175.48.1", "198.18.0.0", "198.19.255.255", "198.51.100.1",
        "203.0.113.1", "224.0.0.0", "239.255.255.255", "240.0.0.0", "255.255.255.255",
        // The metadata services of clouds.
        "100.100.100.200", "169.254.169.254", "fd00:ec2::254",
        // IPv4-compatible, IPv4-mapped and IPv4-translated.
        "::7f00:1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:8.8.8.8%1", "::ffff:0:7f00:1",
        "::ffff:0:808:808",
        // NAT64, Teredo and 6to4.
        "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "2001::1", "2002:7f00:1::1", "2002:808:808::1",
        "::", "::1", "100::1", "100:0:0:1::1", "1fff:ffff::1", "2001:20::1", "2001:1ff:ffff::1", "2001:db8::1", "2001:db8:ffff::1",
        "2606:4700:4700::1111%2", "2620:4f:8000::1", "3fff::1", "3fff:fff::1", "4000::1", "5f00::1", "fc00::1", "fe80::1", "fe80::1%1",
        "fec0::1", "ff02::1",
    ];

    [Theory]
    [MemberData(nameof(SpecialPurpose))]
    public void Special_purpose_address_is_not_public(string address) => Assert.False(PublicAddress.IsPublic(IPAddress.Parse(address)));

    public static TheoryData<string> Ordinary =>
    [
        "1.0.0.0", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
        "168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0",
        "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8", "2001:200::1",
        "2001:4860:4860::8888", "2001:db7:ffff::1", "2001:db9::1", "2003::1", "2606:4700:4700::1111", "2a00:1450:4001::1", "3fff:1000::1",
    ];

    [Theory]
    [MemberData(nameof(Ordinary))]
    public void Ordinary_address_is_public(string address) => Assert.True(PublicAddress.IsPublic(IPAddress.Parse(address)));

    [Theory]
    [InlineData(
        "127.0.0.1", "https://127.0.0.1/", "https://127.0.0.1./", "https://127.1/", "https://2130706433/", "https://0x7f.1/",
        "https://0177.0.0.1/", "https://\uFF11\uFF12\uFF17.0.0.1/", "https://127\u30020\uFF0E0\uFF611/")]
    [InlineData("169.254.169.254", "https://169.254.169.254:8443/latest")]
    [InlineData("::1", "https://[::1]/")]
    [InlineData("::ffff:127.0.0.1", "https://[::ffff:127.0.0.1]/")]
    [InlineData("64:ff9b::", "https://[64:ff9b::7f00:1]/")]
    [InlineData("fe80::1", "https://[fe80::1%1]/")]
    [InlineData("localhost", "https://localhost/", "https://LocalHost.:8443/", "https://business.localhost/")]
    public Task Client_url_with_a_non_public_host_is_refused(string named, params string[] urls) =>
        Assert.AllAsync(urls, async url =>
        {
            var reason = PublicAddress.ReasonAgainst(new Uri(url));
            Assert.NotNull(reason);
            Assert.StartsWith(named, reason, StringComparison.Ordinal);
            Assert.EndsWith("is not a public address", reason, StringComparison.Ordinal);

            var refusal = await RefusalOfAsync(url);
            Assert.StartsWith("--url is expected to lead to a public address, and ", refusal, StringComparison.Ordinal);
            Assert.EndsWith(reason, refusal, StringComparison.Ordinal);
        });

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
