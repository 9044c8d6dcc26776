using System.Text;
using System.Text.Json;
using HibpIngest.Breaches;

namespace HibpIngest.Sql;

/// <summary>How values are written as text, the same in every database.</summary>
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

    /// <summary>What names of breaches are equal by.</summary>
    public static string Fold(string name) => name.ToUpperInvariant();

    public static string OneLine(string error) => error.ReplaceLineEndings(" ");

    /// <summary>A metadata document on top of what is known.</summary>
    public static BreachMetadata Merge(ReadOnlyMemory<byte> document, BreachMetadata before, bool byOperator) =>
        byOperator ? BreachMetadata.Parse(document, before) : BreachMetadata.Merge(document, before);

    /// <summary>Why a load is held that goes on for one whose mails were.</summary>
    public static string HeldBefore(long load) => $"load {load}, in whose place it is, was held";

    /// <summary>Why a load is held again whose slices were requeued while it was.</summary>
    public const string HeldBeforeRequeue = "it was held before its slices were requeued";

    /// <summary>Why a load is held that had mails to send when its rows were purged.</summary>
    public const string HeldAfterPurge = "its slices were requeued after its rows were purged, and it had mails to send";

    /// <summary>Why a load is held that has taken over what another had yet to send.</summary>
    public static string HeldWith(long load) => $"what it took over from load {load} was held";

    /// <summary>Why a load is held of whose breach another was made from the account log.</summary>
    public static string HeldAfterRecovery(long load) =>
        $"load {load} of its breach came back from the account log, which doesn't know who was told of it: hibp notify releases its mails";

    /// <summary>
    /// A subscription as it is stored: trimmed and lower-case, an empty domain for the subscriber's own
    /// address.
    /// </summary>
    public static (string Email, string Domain) Normalise(Subscription subscription) =>
        (subscription.Email.Trim().ToLowerInvariant(), subscription.Domain?.Trim().ToLowerInvariant() ?? "");

    /// <summary>
    /// The accounts that a stored subscription is about: those of a domain, and of these one alias, or all
    /// (null).
    /// </summary>
    public static (string Domain, string? Alias) MatchedBy(string email, string domain)
    {
        var at = email.LastIndexOf('@');
        return domain.Length > 0 ? (domain, null) : (email[(at + 1)..], email[..Math.Max(at, 0)]);
    }

    /// <summary>A batch's slices, numbered on from <paramref name="after"/>.</summary>
    public static List<Slice> Slices(long load, long first, long last, int sliceRows, int after)
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
