using System.Text.Json.Serialization;

namespace HibpIngest.Stores;

/// <summary>Placement of accounts in the tables. Immutable, except for <see cref="Ranges"/> and <see cref="IsDropped"/>.</summary>
public sealed record StoreLayout
{
    /// <summary>1 and up.</summary>
    public required int Id { get; init; }

    /// <summary>Share of the accounts that can be queried by range of hashes. The state is only ever raised.</summary>
    public required RangesState Ranges { get; init; }

    /// <summary>The layout is no longer written, and its tables are or will be deleted. Permanent.</summary>
    public bool IsDropped { get; init; }
    public LayoutFacts Facts { get; init; } = new();

    /// <summary>Suffix of the names of its tables; <c>1</c> for the first layout.</summary>
    public string Name => Facts.AccountsTable.StartsWith(LayoutFacts.Accounts, StringComparison.Ordinal)
        && Facts.AccountsTable.Length > LayoutFacts.Accounts.Length
            ? Facts.AccountsTable[LayoutFacts.Accounts.Length..] : Id.ToString(CultureInfo.InvariantCulture);

    public bool WritesRanges => Ranges != RangesState.Off;

    /// <summary>The layout of a new store, and of a store that has recorded none yet.</summary>
    public static StoreLayout First { get; } = new() { Id = 1, Ranges = RangesState.Off };
}

/// <summary>
/// The immutable part of a layout, stored as JSON whose names are a contract. <see cref="LayoutPlacement"/> computes placements from it.
/// </summary>
[JsonUnmappedMemberHandling(JsonUnmappedMemberHandling.Disallow)]
public sealed record LayoutFacts
{
    /// <summary>Prefix of the names of account tables.</summary>
    public const string Accounts = "accounts";

    /// <summary>Prefix of the names of range tables.</summary>
    public const string Ranges = "ranges";
    public const int MaxStorageAccounts = 32;

    /// <summary>Maximum number of partitions of a domain: two hex digits.</summary>
    public const int MaxPartitions = 256;

    // learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model
    private const int MinTableName = 3;
    private const int MaxTableName = 63;

    public string AccountsTable { get; init; } = Accounts;
    public string RangesTable { get; init; } = Ranges;

    /// <summary>The storage accounts in order, by their numbers in the store: an account's name may change in a migration.</summary>
    public IReadOnlyList<int> StorageAccounts { get; init; } = [1];

    /// <summary>Domains that are spread over several partitions, with the number of partitions.</summary>
    public IReadOnlyDictionary<string, int> SpreadDomains { get; init; } = new Dictionary<string, int>();

    /// <summary>Parses the output of <see cref="ToJson"/>.</summary>
    /// <exception cref="StoreMismatchException">The JSON has another structure, or properties that this program doesn't know.</exception>
    public static LayoutFacts Parse(string json)
    {
        try
        {
            return JsonSerializer.Deserialize(json, LayoutJson.Default.LayoutFacts) ?? throw new JsonException();
        }
        catch (JsonException)
        {
            throw new StoreMismatchException(
                "a layout of the store has properties that this program doesn't know: use the newer program that wrote it");
        }
    }

    public string ToJson() => JsonSerializer.Serialize(this, LayoutJson.Default.LayoutFacts);

    /// <summary>Returns a description of what is invalid in the layout.</summary>
    /// <returns>Null if it is valid.</returns>
    public string? FindFault() =>
        !IsTableName(AccountsTable) || !IsTableName(RangesTable) || AccountsTable.Equals(RangesTable, StringComparison.OrdinalIgnoreCase)
            ? $"tables {AccountsTable} and {RangesTable}; expected two names of {MinTableName} to {MaxTableName} letters and digits, the "
                + "first a letter"
        : StorageAccounts.Count is 0 or > MaxStorageAccounts || StorageAccounts.Any(account => account < 1)
            || StorageAccounts.Distinct().Count() < StorageAccounts.Count
            ? $"storage accounts {string.Join(", ", StorageAccounts)}; expected 1 to {MaxStorageAccounts} numbers, 1 and up, each once"
        : SpreadDomains.FirstOrDefault(spread => spread.Value is < 2 or > MaxPartitions) is { Key: not null } spread
            ? $"domain {spread.Key} over {spread.Value} partitions; expected 2 to {MaxPartitions}"
        : null;

    /// <summary>Returns whether the layouts have a table in common, which two layouts never may.</summary>
    public bool SharesTables(LayoutFacts other) =>
        AccountsTable.Equals(other.AccountsTable, StringComparison.OrdinalIgnoreCase)
        || RangesTable.Equals(other.RangesTable, StringComparison.OrdinalIgnoreCase);

    private static bool IsTableName(string name) =>
        name.Length is >= MinTableName and <= MaxTableName && name.All(char.IsAsciiLetterOrDigit) && char.IsAsciiLetter(name[0]);

    public bool Equals(LayoutFacts? other) =>
        other is not null && AccountsTable == other.AccountsTable && RangesTable == other.RangesTable
        && StorageAccounts.SequenceEqual(other.StorageAccounts)
        && SpreadDomains.OrderBy(spread => spread.Key, StringComparer.Ordinal)
            .SequenceEqual(other.SpreadDomains.OrderBy(spread => spread.Key, StringComparer.Ordinal));

    public override int GetHashCode() => HashCode.Combine(AccountsTable, RangesTable, StorageAccounts.Count, SpreadDomains.Count);
}

/// <summary>Share of the accounts that the range table contains. The numbers are stored: a contract.</summary>
public enum RangesState
{
    Off = 0,

    /// <summary>New accounts are written to it; earlier ones are being backfilled.</summary>
    Filling = 1,

    /// <summary>The range table contains all accounts: ranges can be queried.</summary>
    On = 2,
}

[JsonSerializable(typeof(LayoutFacts))]
public sealed partial class LayoutJson : JsonSerializerContext;

/// <summary>The layouts that every slice is written to.</summary>
/// <param name="Version">Number raised by every change to the set; 0 if the set is empty.</param>
public sealed record LayoutSet(int Version, IReadOnlyList<StoreLayout> Layouts)
{
    /// <summary>The set of a store without layouts: accounts are written as in the first layout.</summary>
    public static LayoutSet None { get; } = new(0, []);

    public IReadOnlyList<StoreLayout> Written => Layouts.Count > 0 ? Layouts : [StoreLayout.First];
    public bool WritesRanges => Layouts.Any(layout => layout.WritesRanges);

    /// <summary>Checks that this program knows every layout. A layout it can't write would have gaps for readers.</summary>
    /// <exception cref="StoreMismatchException">A newer program has extended the set.</exception>
    public void RequireKnown()
    {
        foreach (var layout in Layouts)
        {
            var fault = layout.Facts.FindFault() ?? (Enum.IsDefined(layout.Ranges) ? null : $"ranges in state {(int)layout.Ranges}");
            if (fault is not null)
            {
                throw new StoreMismatchException(
                    $"the store is written in {Layouts.Count} layouts, of which this program doesn't know number {layout.Id} ({fault}): "
                    + "use the newer program");
            }
        }
    }
}

/// <summary>Setting of a new store: whether it writes ranges (HIBP_RANGES).</summary>
public enum RangesMode
{
    Off,

    /// <summary>Ranges are written, from the first account on.</summary>
    On,
}
