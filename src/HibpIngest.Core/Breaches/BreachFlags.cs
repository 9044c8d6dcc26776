namespace HibpIngest.Breaches;

/// <summary>
/// The flags of Have I Been Pwned's breach model (haveibeenpwned.com/API/v3#BreachModel). The numbers are stored: a contract.
/// </summary>
[Flags]
public enum BreachFlags
{
    None = 0,

    /// <summary>The breach was confirmed. Without this flag, mails and lookups say "unverified".</summary>
    Verified = 1,

    /// <summary>Known to be made up. Mails and lookups say so.</summary>
    Fabricated = 2,

    /// <summary>Appearing in this breach may harm a person: excluded from public lookups, but its mails are sent.</summary>
    Sensitive = 4,

    /// <summary>Withdrawn: excluded from all lookups, sends nothing.</summary>
    Retired = 8,

    /// <summary>A list of addresses used for spam, not one site's users. Mails and lookups say so.</summary>
    SpamList = 16,

    /// <summary>Collected by malware. Mails and lookups say so.</summary>
    Malware = 32,

    /// <summary>Its domain search does not count towards a paid subscription. Recorded only.</summary>
    SubscriptionFree = 64,

    /// <summary>From stealer logs. Mails and lookups say so.</summary>
    StealerLog = 128,
}
