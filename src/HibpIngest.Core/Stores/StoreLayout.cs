using System.Globalization;
using System.Text.Json;
using System.Text.Json.Serialization;
using HibpIngest.Errors;

namespace HibpIngest.Stores;

/// <summary>How accounts lie in the tables: written once, but for <see cref="Ranges"/>.</summary>
public sealed record StoreLayout
{
    /// <summary>1 and up.</summary>
    public required int Id { get; init; }

    /// <summary>Whether hashes can be asked for by range. It only ever rises.</summary>
    public required RangesState Ranges { get; init; }

    /// <summary>It is not written any more, and its tables are gone or are going; never taken back.</summary>
    public bool IsDropped { get; init; }

    /// <summary>What never changes.</summary>
    public LayoutFacts Facts { get; init; } = new();

    /// <summary>What people call it: what its tables' names end in; of the first, <c>1</c>.</summary>
    public string Name => Facts.AccountsTable.StartsWith(LayoutFacts.Accounts, StringComparison.Ordinal)
        && Facts.AccountsTable.Length > LayoutFacts.Accounts.Length
            ? Facts.AccountsTable[LayoutFacts.Accounts.Length..] : Id.ToString(CultureInfo.InvariantCulture);

    public bool WritesRanges => Ranges != RangesState.Off;

    /// <summary>What a store begins with, and what one is read by that has recorded none yet.</summary>
    public static StoreLayout First { get; } = new() { Id = 1, Ranges = RangesState.Off };
}

/// <summary>
/// What is written once of a layout; kept as JSON, whose names are a contract. Where an account lies by it is
/// <see cref="LayoutPlacement"/>'s.
/// </summary>
[JsonUnmappedMemberHandling(JsonUnmappedMemberHandling.Disallow)]
public sealed record LayoutFacts
{
    /// <summary>What the names of tables of accounts begin with.</summary>
    public const string Accounts = "accounts";

    /// <summary>What those of hashes begin with.</summary>
    public const string Ranges = "ranges";

    /// <summary>Most storage accounts of a layout.</summary>
    public const int MaxStorageAccounts = 32;

    /// <summary>Most partitions of a domain: two hex digits.</summary>
    public const int MaxPartitions = 256;

    // learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model
    private const int MinTableName = 3;
    private const int MaxTableName = 63;

    public string AccountsTable { get; init; } = Accounts;

    public string RangesTable { get; init; } = Ranges;

    /// <summary>
    /// The storage accounts in order, each by the number it has among those of the store: a name may change with
    /// a move.
    /// </summary>
    public IReadOnlyList<int> StorageAccounts { get; init; } = [1];

    /// <summary>Domains that lie in several partitions, and in how many.</summary>
    public IReadOnlyDictionary<string, int> SpreadDomains { get; init; } = new Dictionary<string, int>();

    /// <summary>Reads what <see cref="ToJson"/> has written.</summary>
    /// <exception cref="StoreMismatchException">It holds something else, or more than this program knows.</exception>
    public static LayoutFacts Parse(string json)
    {
        try
        {
            return JsonSerializer.Deserialize(json, LayoutJson.Default.LayoutFacts) ?? throw new JsonException();
        }
        catch (JsonException)
        {
            throw new StoreMismatchException(
                "a layout of the store holds facts that this program doesn't know: use the newer program that has written it");
        }
    }

    public string ToJson() => JsonSerializer.Serialize(this, LayoutJson.Default.LayoutFacts);

    /// <summary>What no layout can be, for people; null: it can be.</summary>
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

    /// <summary>Whether a table of one is a table of the other, as two layouts' never are.</summary>
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

/// <summary>Whether the table of hashes holds every account. The numbers are stored: a contract.</summary>
public enum RangesState
{
    /// <summary>It is not written.</summary>
    Off = 0,

    /// <summary>New accounts are written to it; those from before are being added.</summary>
    Filling = 1,

    /// <summary>It holds all: ranges are answered.</summary>
    On = 2,
}

[JsonSerializable(typeof(LayoutFacts))]
public sealed partial class LayoutJson : JsonSerializerContext;
