using System.Text.Json.Serialization;

namespace HibpIngest.Stores;

/// <summary>How accounts lie in the tables: written once, but for <see cref="Ranges"/>.</summary>
public sealed record StoreLayout
{
    /// <summary>1 and up.</summary>
    public required int Id { get; init; }

    /// <summary>Whether hashes can be asked for by range. It only ever rises.</summary>
    public required RangesState Ranges { get; init; }

    /// <summary>What never changes.</summary>
    public LayoutFacts Facts { get; init; } = new();
}

/// <summary>What is written once of a layout; kept as JSON, whose names are a contract.</summary>
public sealed record LayoutFacts
{
    /// <summary>Table of the accounts.</summary>
    public string AccountsTable { get; init; } = "accounts";

    /// <summary>Table of the hashes.</summary>
    public string RangesTable { get; init; } = "ranges";

    /// <summary>
    /// The storage accounts in order, each by the number it has among those of the store: a name may change with
    /// a move.
    /// </summary>
    public IReadOnlyList<int> StorageAccounts { get; init; } = [1];

    /// <summary>Domains that lie in several partitions, and in how many.</summary>
    public IReadOnlyDictionary<string, int> SpreadDomains { get; init; } = new Dictionary<string, int>();

    /// <inheritdoc/>
    public bool Equals(LayoutFacts? other) =>
        other is not null && AccountsTable == other.AccountsTable && RangesTable == other.RangesTable
        && StorageAccounts.SequenceEqual(other.StorageAccounts)
        && SpreadDomains.OrderBy(spread => spread.Key, StringComparer.Ordinal)
            .SequenceEqual(other.SpreadDomains.OrderBy(spread => spread.Key, StringComparer.Ordinal));

    /// <inheritdoc/>
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

/// <summary>The JSON of <see cref="LayoutFacts"/>.</summary>
[JsonSerializable(typeof(LayoutFacts))]
public sealed partial class LayoutJson : JsonSerializerContext;
