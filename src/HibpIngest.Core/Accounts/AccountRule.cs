namespace HibpIngest.Accounts;

/// <summary>
/// The rules that a candidate must keep, in the order they are tried: a candidate counts under the first it
/// breaks. They are those that Have I Been Pwned publishes for its own extractor
/// (github.com/HaveIBeenPwned/EmailAddressExtractor), and one of ours for what those don't see. The names are stored
/// and shown, and counts are stored by their place: a contract.
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
    /// The domain has a period, no leading, trailing or doubled one, no leading or trailing hyphen and none
    /// next to a period.
    /// </summary>
    DomainShape,

    /// <summary>Every label of the domain has at most 63 characters.</summary>
    LabelLength,

    /// <summary>The domain is not an IPv4 address.</summary>
    DomainIsAddress,

    /// <summary>The top-level domain is on IANA's list.</summary>
    TopLevelDomain,

    /// <summary>The whole account, with its @, has at most 255 characters.</summary>
    AccountLength,

    /// <summary>
    /// The address is ASCII: no local part as SMTPUTF8 allows it (é@example.com), no domain in Unicode (a@bücher.de),
    /// which is to be written as a mail server sees it (xn--bcher-kva.de). Tried where no other part of the address is
    /// an account.
    /// </summary>
    NonAscii,
}
