namespace HibpIngest.Breaches;

/// <summary>
/// A breach as the public may know it, in the property names of Have I Been Pwned's breach model
/// (haveibeenpwned.com/API/v3#BreachModel).
/// </summary>
public sealed record PublicBreach(
    string Name, string Title, string? Domain, DateOnly? BreachDate, string? Description, IReadOnlyList<string> DataClasses,
    bool IsVerified, bool IsFabricated, bool IsSpamList, bool IsMalware, bool IsStealerLog, bool IsSubscriptionFree)
{
    /// <summary>What may be told of a breach, whether it may be told of is <see cref="Breach.IsPublic"/>.</summary>
    public static PublicBreach Of(Breach breach)
    {
        var metadata = breach.Metadata;
        return new PublicBreach(
            breach.Name, metadata.Title ?? breach.Name, metadata.Domain, metadata.BreachDate, metadata.Description, metadata.DataClasses,
            Has(BreachFlags.Verified), Has(BreachFlags.Fabricated), Has(BreachFlags.SpamList), Has(BreachFlags.Malware),
            Has(BreachFlags.StealerLog), Has(BreachFlags.SubscriptionFree));

        bool Has(BreachFlags flag) => metadata.Flags.HasFlag(flag);
    }
}
