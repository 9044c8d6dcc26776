namespace HibpIngest.Tests.Accounts;

public sealed class ClaimableDomainsTests
{
    // Most are cases of publicsuffix.org's own tests, which are in the public domain.
    public static TheoryData<string, bool> Domains => new()
    {
        { "com", true }, { "example.com", false }, { "b.example.com", false }, { "co.uk", true }, { "example.co.uk", false },
        { "ck", true }, { "test.ck", true }, { "b.test.ck", false }, { "www.ck", false }, { "ide.kyoto.jp", true },
        { "b.ide.kyoto.jp", false }, { "c.kobe.jp", true }, { "city.kobe.jp", false }, { "github.io", true },
        { "someone.github.io", false }, { "xn--55qx5d.cn", true }, { "xn--85x722f.xn--55qx5d.cn", false },
        { "unlisted-top-level-domain", true },
    };

    [Theory]
    [MemberData(nameof(Domains))]
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
