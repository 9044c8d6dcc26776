namespace HibpIngest.Tests.Accounts;

public sealed class ClaimableDomainsTests
{
    // Most are cases of publicsuffix.org's own tests, which are in the public domain.
    [Theory]
    [InlineData("com", true)]
    [InlineData("example.com", false)]
    [InlineData("b.example.com", false)]
    [InlineData("co.uk", true)]
    [InlineData("example.co.uk", false)]
    [InlineData("ck", true)]
    [InlineData("test.ck", true)]
    [InlineData("b.test.ck", false)]
    [InlineData("www.ck", false)]
    [InlineData("ide.kyoto.jp", true)]
    [InlineData("b.ide.kyoto.jp", false)]
    [InlineData("c.kobe.jp", true)]
    [InlineData("city.kobe.jp", false)]
    [InlineData("github.io", true)]
    [InlineData("someone.github.io", false)]
    [InlineData("xn--55qx5d.cn", true)]
    [InlineData("xn--85x722f.xn--55qx5d.cn", false)]
    [InlineData("unlisted-top-level-domain", true)]
    public void Public_suffix_is_found_by_the_rule_that_prevails(string domain, bool expected)
    {
        Assert.Equal(expected, ClaimableDomains.IsPublicSuffix(domain));
        Assert.Equal(!expected, ClaimableDomains.CanHaveOwner(domain));
    }

    [Theory]
    [InlineData("gmail.com")]
    [InlineData("yahoo.co.jp")]
    [InlineData("gmx.de")]
    public void Mail_provider_has_no_owner(string domain) => Assert.False(ClaimableDomains.CanHaveOwner(domain));
}
