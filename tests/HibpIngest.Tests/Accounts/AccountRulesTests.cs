namespace HibpIngest.Tests.Accounts;

public sealed class AccountRulesTests
{
    [Theory]
    [InlineData("bob@example.com", "bob", "example.com")]
    [InlineData(" Bob.Smith+x@EXAMPLE.co.UK\r\n", "bob.smith+x", "example.co.uk")]
    [InlineData("a@b.de", "a", "b.de")]
    public void TryParse_returns_alias_and_domain_in_lower_case(string text, string alias, string domain)
    {
        Assert.True(AccountRules.TryParse(text, out var account, out var broken));
        Assert.Equal((alias, domain, null), (account.Alias, account.Domain, broken));
        Assert.True(AccountRules.TryParse(Encoding.UTF8.GetBytes(text), out account, out broken));
        Assert.Equal((alias, domain, null), (account.Alias, account.Domain, broken));
    }

    [Theory]
    [InlineData("", null)]
    [InlineData("bob", null)]
    [InlineData("bob@example.com alice@example.com", null)]
    [InlineData("bob@exam ple.com", null)]
    [InlineData("bob@b@example.com", null)]
    [InlineData("Bob <bob@example.com>", null)]
    [InlineData("jörg@example.com", AccountRule.NonAscii)]
    [InlineData(@"\nbob@example.com", null)]
    [InlineData("@example.com", AccountRule.AliasLength)]
    [InlineData(".bob@example.com", AccountRule.AliasPeriod)]
    [InlineData("bob@", AccountRule.DomainLength)]
    [InlineData("bob@localhost", AccountRule.DomainShape)]
    [InlineData("bob@10.0.0.1", AccountRule.DomainIsAddress)]
    [InlineData("bob@example.invalid", AccountRule.TopLevelDomain)]
    public void TryParse_returns_the_rule_that_an_invalid_address_breaks(string text, AccountRule? expected)
    {
        Assert.False(AccountRules.TryParse(text, out var account, out var broken));
        // A null rule: the text is not of the form alias@domain.
        Assert.Equal((default, expected), (account, broken));
    }

    [Theory]
    [InlineData(400, 3, AccountRule.AliasLength)]
    [InlineData(1, 400_000, AccountRule.DomainLength)]
    public void TryParse_rejects_parts_far_above_the_limit(int aliasLength, int domainLength, AccountRule expected)
    {
        Assert.False(AccountRules.TryParse(new string('a', aliasLength) + "@" + new string('b', domainLength), out _, out var broken));
        Assert.Equal(expected, broken);
    }

    [Theory]
    [InlineData(" Example.COM ", "example.com")]
    [InlineData("example.invalid", "")]
    [InlineData("x@example.com", "")]
    [InlineData("", "")]
    public void TryParseDomain_accepts_only_valid_domains(string text, string expected)
    {
        Assert.Equal(expected.Length > 0, AccountRules.TryParseDomain(text, out var domain, out _));
        Assert.Equal(expected, domain);
    }

    [Fact]
    public void TopLevelDomains_contains_exactly_the_listed_domains()
    {
        Assert.InRange(TopLevelDomains.All.Count, 1_400, 2_000);
        Assert.All(TopLevelDomains.All, name => Assert.True(TopLevelDomains.Contains(Encoding.ASCII.GetBytes(name))));
        foreach (var name in TopLevelDomains.All.Where(name => name.Length == 2))
        {
            var swapped = $"{name[1]}{name[0]}";
            Assert.Equal(TopLevelDomains.All.Contains(swapped), TopLevelDomains.Contains(Encoding.ASCII.GetBytes(swapped)));
        }
        string[] others = ["", "c", "coms", "co-m", "example", "invalid", "local", "png", "xn--", "xn--p1a", new('x', 255)];
        Assert.All(others, name => Assert.False(TopLevelDomains.Contains(Encoding.ASCII.GetBytes(name))));
        string[] some = ["com", "net", "org", "de", "uk", "jp", "museum", "xn--p1ai", "xn--vermgensberatung-pwb"];
        Assert.All(some, name => Assert.Contains(name, TopLevelDomains.All));
    }

    [Fact]
    public void TopLevelDomains_states_the_version_and_hash_of_its_list()
    {
        Assert.StartsWith(TopLevelDomains.ListDate.ToString("yyyyMMdd"), TopLevelDomains.ListVersion);
        Assert.Equal(10, TopLevelDomains.ListVersion.Length);
        Assert.Matches("^[0-9a-f]{64}$", TopLevelDomains.Hash);
    }
}
