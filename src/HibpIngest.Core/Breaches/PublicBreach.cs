using System.Text.Json.Serialization;

namespace HibpIngest.Breaches;

/// <summary>
/// The public form of a breach, stored in the catalogue and returned by the API: Have I Been Pwned's breach model, with its
/// property names in its order (haveibeenpwned.com/API/v3#BreachModel).
/// </summary>
public sealed record PublicBreach
{
    /// <summary>Unique, ignoring case; never changes.</summary>
    public required string Name { get; init; }

    /// <summary>Display name; may change.</summary>
    public required string Title { get; init; }

    /// <summary>Domain of the breached site; empty if there is none.</summary>
    public string Domain { get; init; } = "";

    /// <summary>yyyy-MM-dd. Null if unknown.</summary>
    public DateOnly? BreachDate { get; init; }

    /// <summary>When the breach was first published, in whole seconds.</summary>
    [JsonConverter(typeof(WholeSecondsConverter))]
    public DateTimeOffset AddedDate { get; init; }

    /// <summary>When the public data of the breach last changed, in whole seconds.</summary>
    [JsonConverter(typeof(WholeSecondsConverter))]
    public DateTimeOffset ModifiedDate { get; init; }

    /// <summary>Accounts of the published loads.</summary>
    public long PwnCount { get; init; }

    /// <summary>HTML that holds only text and the elements a, em, strong, br and p.</summary>
    public string Description { get; init; } = "";

    /// <summary>URL of the logo, a PNG.</summary>
    public string LogoPath { get; init; } = "";

    /// <summary>Source of the data. Null if no source is named.</summary>
    public string? Attribution { get; init; }

    /// <summary>URL of the disclosure. Null if not disclosed.</summary>
    public string? DisclosureUrl { get; init; }

    /// <summary>Kinds of exposed data, such as "Email addresses"; sorted.</summary>
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

    public BreachFlags GetFlags()
    {
        return Of(IsVerified, BreachFlags.Verified) | Of(IsFabricated, BreachFlags.Fabricated) | Of(IsSensitive, BreachFlags.Sensitive)
            | Of(IsRetired, BreachFlags.Retired) | Of(IsSpamList, BreachFlags.SpamList) | Of(IsMalware, BreachFlags.Malware)
            | Of(IsSubscriptionFree, BreachFlags.SubscriptionFree) | Of(IsStealerLog, BreachFlags.StealerLog);

        static BreachFlags Of(bool isSet, BreachFlags flag) => isSet ? flag : BreachFlags.None;
    }

    /// <summary>Converts a breach, regardless of whether it may be shown (<see cref="Breach.IsPublic"/>).</summary>
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

/// <summary>Writes a time as Have I Been Pwned does: <c>2013-12-04T00:00:00Z</c>, without fractions.</summary>
public sealed class WholeSecondsConverter : JsonConverter<DateTimeOffset>
{
    private const string Format = "yyyy-MM-dd'T'HH:mm:ss'Z'";

    public override DateTimeOffset Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options) =>
        reader.GetDateTimeOffset();

    public override void Write(Utf8JsonWriter writer, DateTimeOffset value, JsonSerializerOptions options) =>
        writer.WriteStringValue(value.UtcDateTime.ToString(Format, CultureInfo.InvariantCulture));
}
