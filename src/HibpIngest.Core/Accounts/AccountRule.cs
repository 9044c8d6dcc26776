namespace HibpIngest.Accounts;

/// <summary>
/// Rules for candidates, in the order in which they are checked. Each value is the rule that a rejected candidate breaks; its comment
/// states what the rule requires. A candidate is counted under the first rule it breaks. All rules except <see cref="NonAscii"/> are those
/// that Have I Been Pwned publishes for its own extractor (github.com/HaveIBeenPwned/EmailAddressExtractor). Names and order are a
/// contract: names are stored and displayed, counts are stored by index.
/// </summary>
public enum AccountRule
{
    /// <summary>The alias has 1 to 64 characters.</summary>
    AliasLength,

    /// <summary>The alias has no leading, trailing or doubled period.</summary>
    AliasPeriod,

    /// <summary>The domain has 4 to 255 characters.</summary>
    DomainLength,

    /// <summary>
    /// The domain has a period, but none leading, trailing or doubled, and no hyphen that is leading, trailing or next to a period.
    /// </summary>
    DomainShape,

    /// <summary>Every label of the domain has at most 63 characters.</summary>
    LabelLength,

    /// <summary>The domain is not an IPv4 address.</summary>
    DomainIsAddress,

    /// <summary>The top-level domain is on IANA's list.</summary>
    TopLevelDomain,

    /// <summary>The whole account, including the @, has at most 255 characters.</summary>
    AccountLength,

    /// <summary>
    /// The address is ASCII: no SMTPUTF8 local part (é@example.com) and no Unicode domain (a@bücher.de), which must be written in
    /// punycode (xn--bcher-kva.de). Not counted if a valid account was found at the same @.
    /// </summary>
    NonAscii,
}
