namespace HibpIngest.Breaches;

/// <summary>
/// The flags of Have I Been Pwned's breach model (haveibeenpwned.com/API/v3#BreachModel). The numbers are
/// stored: a contract.
/// </summary>
[Flags]
public enum BreachFlags
{
    None = 0,

    /// <summary>The breach was confirmed. Without it the mail and the lookup say "unverified".</summary>
    Verified = 1,

    /// <summary>Known to be made up; said in the mail and in the lookup.</summary>
    Fabricated = 2,

    /// <summary>Being in it may harm a person: in no public lookup, but its mails go out.</summary>
    Sensitive = 4,

    /// <summary>Withdrawn: in no lookup, sends nothing.</summary>
    Retired = 8,

    /// <summary>A list of addresses used for spam, not one site's users; said in the mail and in the lookup.</summary>
    SpamList = 16,

    /// <summary>Collected by malware; said in the mail and in the lookup.</summary>
    Malware = 32,

    /// <summary>Its domain search does not count towards a paid subscription; only recorded.</summary>
    SubscriptionFree = 64,

    /// <summary>From stealer logs; said in the mail and in the lookup.</summary>
    StealerLog = 128,
}
