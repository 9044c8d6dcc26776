namespace HibpIngest.Breaches;

/// <summary>
/// Metadata of a breach, from <c>breach/{name}.json</c> next to its file or from the options of <c>hibp drop</c>, with the property names
/// of Have I Been Pwned's breach model (haveibeenpwned.com/API/v3#BreachModel).
/// </summary>
public sealed record BreachMetadata
{
    /// <summary>Maximum size of a metadata blob, in bytes.</summary>
    public const int MaxBytes = 1 << 20;

    private static readonly JsonDocumentOptions Options =
        new() { AllowTrailingCommas = true, CommentHandling = JsonCommentHandling.Skip };

    private static readonly string[] ShortFlags =
        [.. Enum.GetValues<BreachFlags>().Where(flag => flag != BreachFlags.None).Select(flag => flag.ToString())];

    private static readonly string[] Known =
    [
        nameof(Name), nameof(Title), nameof(Domain), nameof(BreachDate), nameof(Description), nameof(Attribution), nameof(DisclosureUrl),
        nameof(DataClasses), nameof(Notify), .. ShortFlags.Select(flag => "Is" + flag),
    ];

    // Properties of Have I Been Pwned's model that are derived from the load and ignored in documents.
    private static readonly string[] Kept = ["AddedDate", "ModifiedDate", "PwnCount", "LogoPath"];

    /// <summary>Name of the breach. If null, it is the file's name.</summary>
    public string? Name { get; init; }

    /// <summary>Display name. If null, the breach's name is displayed.</summary>
    public string? Title { get; init; }
    public string? Domain { get; init; }
    public DateOnly? BreachDate { get; init; }

    /// <summary>Plain text or HIBP's HTML; displayed as text.</summary>
    public string? Description { get; init; }
    public string? Attribution { get; init; }
    public string? DisclosureUrl { get; init; }

    /// <summary>For example "Email addresses", "Passwords".</summary>
    public IReadOnlyList<string> DataClasses { get; init; } = [];
    public BreachFlags Flags { get; init; }
    public NotifyMode Notify { get; init; }

    /// <summary>
    /// Parses a JSON object. Property names ignore case: Name, Title, Domain, BreachDate (yyyy-MM-dd), Description, Attribution,
    /// DisclosureUrl (http or https), DataClasses (array), IsVerified, IsFabricated, IsSensitive, IsRetired, IsSpamList, IsMalware,
    /// IsSubscriptionFree, IsStealerLog (each also without the Is), Notify ("send" or "hold"). Other properties are ignored.
    /// </summary>
    /// <param name="before">Existing metadata. Properties that the JSON lacks keep their value from here, except Name and Notify.</param>
    /// <exception cref="BadInputException">Not JSON, not an object, or a value of the wrong kind. The message names the
    /// property.</exception>
    public static BreachMetadata Parse(ReadOnlyMemory<byte> json, BreachMetadata? before = null)
    {
        if (json.Span.StartsWith("\uFEFF"u8))
            json = json[3..];
        try
        {
            using var document = JsonDocument.Parse(json, Options);
            return Read(document.RootElement, (before ?? new BreachMetadata()) with { Name = null, Notify = NotifyMode.Send });
        }
        catch (JsonException e)
        {
            throw new BadInputException($"the breach's metadata is not JSON (line {(e.LineNumber ?? 0) + 1}, byte "
                + $"{(e.BytePositionInLine ?? 0) + 1} of it); fix the file and resume the load", e);
        }
    }

    /// <summary>
    /// Returns the unknown properties of a metadata document, each with the most similar known one, if any is similar. Properties of the
    /// breach model that this program sets itself (AddedDate, PwnCount and others) are not reported.
    /// </summary>
    /// <param name="json">A document that <see cref="Parse"/> accepts.</param>
    public static IReadOnlyList<(string Property, string? Nearest)> FindUnknown(ReadOnlyMemory<byte> json)
    {
        if (json.Span.StartsWith("\uFEFF"u8))
            json = json[3..];
        using var document = JsonDocument.Parse(json, Options);
        return [.. document.RootElement.EnumerateObject().Select(property => property.Name)
            .Where(name => !Known.Concat(Kept).Concat(ShortFlags).Contains(name, StringComparer.OrdinalIgnoreCase))
            .Distinct().Select(name => (name, Spelling.Nearest(name, Known)))];
    }

    /// <summary>
    /// Parses as <see cref="Parse"/> does, but never clears a flag: otherwise anybody who may drop a file could make a sensitive breach
    /// public. Only an operator clears flags.
    /// </summary>
    /// <exception cref="BadInputException">As for <see cref="Parse"/>.</exception>
    public static BreachMetadata Merge(ReadOnlyMemory<byte> json, BreachMetadata before)
    {
        var merged = Parse(json, before);
        return merged with { Flags = merged.Flags | before.Flags };
    }

    /// <summary>Serialises to the form that <see cref="Parse"/> reads. Unset properties are omitted.</summary>
    public byte[] ToJson()
    {
        var values = new Dictionary<string, object?>();
        if (Name is not null) values["Name"] = Name;
        if (Title is not null) values["Title"] = Title;
        if (Domain is not null) values["Domain"] = Domain;
        if (BreachDate is { } date) values["BreachDate"] = date.ToString("yyyy-MM-dd");
        if (Description is not null) values["Description"] = Description;
        if (Attribution is not null) values["Attribution"] = Attribution;
        if (DisclosureUrl is not null) values["DisclosureUrl"] = DisclosureUrl;
        if (DataClasses.Count > 0) values["DataClasses"] = DataClasses;
        foreach (var flag in Enum.GetValues<BreachFlags>().Where(flag => flag != BreachFlags.None && Flags.HasFlag(flag)))
            values["Is" + flag] = true;
        if (Notify == NotifyMode.Hold) values["Notify"] = "hold";
        return JsonSerializer.SerializeToUtf8Bytes(values);
    }

    private static BreachMetadata Read(JsonElement root, BreachMetadata metadata)
    {
        if (root.ValueKind != JsonValueKind.Object)
            throw new BadInputException($"the breach's metadata: expected a JSON object, found {root.ValueKind}; fix the file");
        foreach (var property in root.EnumerateObject())
            metadata = Apply(metadata, property.Name.ToLowerInvariant(), property.Value);
        return metadata;
    }

    private static BreachMetadata Apply(BreachMetadata metadata, string property, JsonElement value)
    {
        switch (property)
        {
            case "name":
                var name = Text();
                if (name is not null)
                    BreachName.Check(name);
                return metadata with { Name = name };
            case "title": return metadata with { Title = Text() };
            case "domain": return metadata with { Domain = Text()?.ToLowerInvariant() };
            case "description": return metadata with { Description = Text() };
            case "attribution": return metadata with { Attribution = Text() };
            case "disclosureurl":
                var url = Text();
                return url is null || WebAddress.IsLink(url) ? metadata with { DisclosureUrl = url }
                    : throw Wrong("an address that begins with https:// or http://");
            case "breachdate":
                return Text() is not { } text ? metadata : DateOnly.TryParseExact(text, "yyyy-MM-dd", out var date)
                    ? metadata with { BreachDate = date }
                    : throw Wrong("a date as yyyy-MM-dd");
            case "dataclasses":
                if (value.ValueKind == JsonValueKind.Null)
                    return metadata;
                if (value.ValueKind != JsonValueKind.Array || value.EnumerateArray().Any(item => item.ValueKind != JsonValueKind.String))
                    throw Wrong("an array of strings");
                return metadata with { DataClasses = [.. value.EnumerateArray().Select(item => item.GetString()!)] };
            case "notify":
                return Text()?.ToLowerInvariant() switch
                {
                    null or "send" => metadata with { Notify = NotifyMode.Send },
                    "hold" => metadata with { Notify = NotifyMode.Hold },
                    _ => throw Wrong("\"send\" or \"hold\""),
                };
        }
        var flagName = property.StartsWith("is", StringComparison.Ordinal) ? property[2..] : property;
        foreach (var flag in Enum.GetValues<BreachFlags>())
        {
            if (flag == BreachFlags.None || !flag.ToString().Equals(flagName, StringComparison.OrdinalIgnoreCase))
                continue;
            return value.ValueKind switch
            {
                JsonValueKind.True => metadata with { Flags = metadata.Flags | flag },
                JsonValueKind.False or JsonValueKind.Null => metadata with { Flags = metadata.Flags & ~flag },
                _ => throw Wrong("true or false"),
            };
        }
        return metadata;

        string? Text() => value.ValueKind switch
        {
            JsonValueKind.String when string.IsNullOrWhiteSpace(value.GetString()) => null,
            JsonValueKind.String => value.GetString()!.Trim(),
            JsonValueKind.Null => null,
            _ => throw Wrong("a string"),
        };

        BadInputException Wrong(string expected) =>
            new($"the breach's metadata: {property}: expected {expected}, found {value.ValueKind}; fix the file and resume the "
                + "load");
    }
}

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

/// <summary>How a load's notifications are handled after matching.</summary>
public enum NotifyMode
{
    Send,

    /// <summary>They wait, matched and counted, until an operator releases them: a mail can't be recalled.</summary>
    Hold,
}
