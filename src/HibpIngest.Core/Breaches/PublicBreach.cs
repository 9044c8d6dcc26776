using System.Text.Json.Serialization;

namespace HibpIngest.Breaches;

/// <summary>
/// A breach as readers may know it: Have I Been Pwned's breach model, in the property names and the order of its
/// answers (haveibeenpwned.com/API/v3#BreachModel). What the catalogue holds and the API sends.
/// </summary>
public sealed record PublicBreach
{
    /// <summary>Unique without regard to case, never changed.</summary>
    public required string Name { get; init; }

    /// <summary>Shown to people; may change.</summary>
    public required string Title { get; init; }

    /// <summary>Of the site that was breached; empty where there is none.</summary>
    public string Domain { get; init; } = "";

    /// <summary>yyyy-MM-dd; null where nobody knows.</summary>
    public DateOnly? BreachDate { get; init; }

    /// <summary>When it was first published; to the second.</summary>
    [JsonConverter(typeof(WholeSecondsConverter))]
    public DateTimeOffset AddedDate { get; init; }

    /// <summary>When what is told of it last changed; to the second.</summary>
    [JsonConverter(typeof(WholeSecondsConverter))]
    public DateTimeOffset ModifiedDate { get; init; }

    /// <summary>Accounts of its published loads.</summary>
    public long PwnCount { get; init; }

    /// <summary>HTML, of text and a, em, strong, br and p alone.</summary>
    public string Description { get; init; } = "";

    /// <summary>Address of its logo, a PNG.</summary>
    public string LogoPath { get; init; } = "";

    /// <summary>Whom the data is from; null where nobody is to be named.</summary>
    public string? Attribution { get; init; }

    /// <summary>Where the breach was disclosed; null where nowhere.</summary>
    public string? DisclosureUrl { get; init; }

    /// <summary>"Email addresses", "Passwords", ...; in order.</summary>
    public IReadOnlyList<string> DataClasses { get; init; } = [];

    /// <inheritdoc cref="BreachFlags.Verified"/>
    public bool IsVerified { get; init; }

    /// <inheritdoc cref="BreachFlags.Fabricated"/>
    public bool IsFabricated { get; init; }

    /// <inheritdoc cref="BreachFlags.Sensitive"/>
    public bool IsSensitive { get; init; }

    /// <inheritdoc cref="BreachFlags.Retired"/>
    public bool IsRetired { get; init; }

    /// <inheritdoc cref="BreachFlags.SpamList"/>
    public bool IsSpamList { get; init; }

    /// <inheritdoc cref="BreachFlags.Malware"/>
    public bool IsMalware { get; init; }

    /// <inheritdoc cref="BreachFlags.SubscriptionFree"/>
    public bool IsSubscriptionFree { get; init; }

    /// <inheritdoc cref="BreachFlags.StealerLog"/>
    public bool IsStealerLog { get; init; }

    /// <summary>Returns the flags as one value.</summary>
    public BreachFlags GetFlags()
    {
        return Of(IsVerified, BreachFlags.Verified) | Of(IsFabricated, BreachFlags.Fabricated) | Of(IsSensitive, BreachFlags.Sensitive)
            | Of(IsRetired, BreachFlags.Retired) | Of(IsSpamList, BreachFlags.SpamList) | Of(IsMalware, BreachFlags.Malware)
            | Of(IsSubscriptionFree, BreachFlags.SubscriptionFree) | Of(IsStealerLog, BreachFlags.StealerLog);

        static BreachFlags Of(bool isSet, BreachFlags flag) => isSet ? flag : BreachFlags.None;
    }

    /// <summary>What is told of a breach; whether it may be told is <see cref="Breach.IsPublic"/>.</summary>
    public static PublicBreach Of(Breach breach)
    {
        var metadata = breach.Metadata;
        return new PublicBreach
        {
            Name = breach.Name,
            Title = metadata.Title ?? breach.Name,
            Domain = metadata.Domain ?? "",
            BreachDate = metadata.BreachDate,
            AddedDate = breach.PublishedAt ?? default,
            ModifiedDate = breach.PublishedAt ?? default,
            Description = metadata.Description ?? "",
            Attribution = metadata.Attribution,
            DisclosureUrl = metadata.DisclosureUrl,
            DataClasses = metadata.DataClasses,
            IsVerified = Has(BreachFlags.Verified),
            IsFabricated = Has(BreachFlags.Fabricated),
            IsSensitive = Has(BreachFlags.Sensitive),
            IsRetired = Has(BreachFlags.Retired),
            IsSpamList = Has(BreachFlags.SpamList),
            IsMalware = Has(BreachFlags.Malware),
            IsSubscriptionFree = Has(BreachFlags.SubscriptionFree),
            IsStealerLog = Has(BreachFlags.StealerLog),
        };

        bool Has(BreachFlags flag) => metadata.Flags.HasFlag(flag);
    }
}
