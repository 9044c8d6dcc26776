namespace HibpIngest.Storage.Sql;

/// <summary>The text form of stored values, the same in every database.</summary>
internal static class StoredText
{
    private static readonly JsonSerializerOptions Options = new() { IgnoreReadOnlyProperties = true };

    public static string ToText(LoadSettings settings) => JsonSerializer.Serialize(settings, Options);

    public static string ToText(LoadCheckpoint checkpoint) => JsonSerializer.Serialize(checkpoint, Options);

    public static string ToText(BreachMetadata metadata) => Encoding.UTF8.GetString(metadata.ToJson());

    public static string ToText(LoadState state) => state.ToString().ToLowerInvariant();

    public static LoadSettings ToSettings(string json) => JsonSerializer.Deserialize<LoadSettings>(json, Options)!;

    public static LoadCheckpoint ToCheckpoint(string json) => JsonSerializer.Deserialize<LoadCheckpoint>(json, Options)!;

    public static BreachMetadata ToMetadata(string json) => BreachMetadata.Parse(Encoding.UTF8.GetBytes(json));

    public static LoadState ToLoadState(string name) => Enum.Parse<LoadState>(name, ignoreCase: true);

    public static SliceState ToSliceState(string name) => Enum.Parse<SliceState>(name, ignoreCase: true);

    /// <summary>Returns the form by which breach names are compared.</summary>
    public static string Fold(string name) => name.ToUpperInvariant();

    public static string OneLine(string error) => error.ReplaceLineEndings(" ");

    public static BreachMetadata Merge(ReadOnlyMemory<byte> document, BreachMetadata before, bool byOperator) =>
        byOperator ? BreachMetadata.Parse(document, before) : BreachMetadata.Merge(document, before);

    public const string HeldBeforeRequeue = "it was held before its slices were requeued";

    public const string HeldAfterPurge = "its slices were requeued after its rows were purged, and it had unsent mails";

    public static string HeldBefore(LoadId load) => $"load {load}, which it replaces, was held";

    public static string HeldWith(LoadId load) => $"it took over notifications of load {load}, which was held";

    public static string HeldAfterRecovery(LoadId load) =>
        $"load {load} of its breach was recovered from the journal, which doesn't record who was notified: "
        + "hibp mail release releases the mails";

    /// <summary>Trimmed and lower-case, with an empty domain for the subscriber's own address.</summary>
    public static (string Email, string Domain) Normalise(Subscription subscription) =>
        (subscription.Email.Trim().ToLowerInvariant(), subscription.Domain?.Trim().ToLowerInvariant() ?? "");

    /// <summary>Returns the accounts that a stored subscription matches: a domain, and one alias of it or all (null).</summary>
    public static (string Domain, string? Alias) MatchedBy(string email, string domain)
    {
        var at = email.LastIndexOf('@');
        return domain.Length > 0 ? (domain, null) : (email[(at + 1)..], email[..Math.Max(at, 0)]);
    }

    /// <summary>Returns a batch's slices, numbered from <paramref name="after"/> + 1.</summary>
    public static List<Slice> Slices(LoadId load, long first, long last, int sliceRows, int after)
    {
        var slices = new List<Slice>();
        for (; first <= last; first += sliceRows)
        {
            var end = Math.Min(first + sliceRows - 1, last);
            var count = (int)(end - first + 1);
            slices.Add(new Slice { Load = load, Number = ++after, First = first, Last = end, Count = count, State = SliceState.Pending });
        }
        return slices;
    }
}
