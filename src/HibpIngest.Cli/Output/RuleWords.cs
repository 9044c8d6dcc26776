namespace HibpIngest.Cli.Output;

internal static class RuleWords
{
    /// <param name="broken">The rule; null if the text doesn't have the form of an address at all.</param>
    public static string Of(AccountRule? broken) => broken switch
    {
        null => "it isn't of the form alias@domain, or has characters other than letters, digits and . - + _",
        AccountRule.AliasLength => $"the part before the @ is empty or longer than {AccountRules.MaxAliasLength} characters",
        AccountRule.AliasPeriod => "the part before the @ begins or ends with a period, or has two in a row",
        AccountRule.DomainLength =>
            $"the domain is shorter than {AccountRules.MinDomainLength} or longer than {AccountRules.MaxDomainLength} characters",
        AccountRule.DomainShape => "the domain has no period, or a period or hyphen in a wrong place",
        AccountRule.LabelLength => $"a label of the domain is longer than {AccountRules.MaxLabelLength} characters",
        AccountRule.DomainIsAddress => "the domain is an IP address",
        AccountRule.TopLevelDomain => "the domain doesn't end in a known top-level domain",
        AccountRule.AccountLength => $"it is longer than {AccountRules.MaxAccountLength} characters",
        AccountRule.NonAscii => "it contains characters outside ASCII; write such a domain in punycode (xn--...)",
        { } other => other.ToString(),
    };
}
