using HibpIngest.AccountLog;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>What is to be rebuilt, and how.</summary>
/// <param name="Name">Of the layout: a new one is added; one that is there gets what it lacks.</param>
public sealed record RebuildOrder(string Name)
{
    /// <summary>Numbers of the storage accounts; null: of a new layout, those of the one that is read.</summary>
    public IReadOnlyList<int>? StorageAccounts { get; init; }

    /// <summary>Domains that lie in several partitions; null: none of a new layout.</summary>
    public IReadOnlyDictionary<string, int>? SpreadDomains { get; init; }

    /// <summary>Whether hashes are written too; null: where the layout that is read has them.</summary>
    public bool? Ranges { get; init; }

    /// <summary>That the accounts which are brought together at once may take.</summary>
    public long MemoryBytes { get; init; } = MergeAccounts.DefaultMemoryBytes;

    /// <summary>Where rows lie meanwhile, some 21 bytes each.</summary>
    public string Folder { get; init; } = Path.GetTempPath();
}

/// <summary>How far a rebuild is: first rows are read, then the accounts they make are written.</summary>
/// <param name="Rows">That are to be read and written.</param>
/// <param name="Read">Of these, those that have been read.</param>
/// <param name="Written">Which part has been written, 0 to 1, by this run or one before.</param>
/// <param name="WrittenBefore">Which part one before had.</param>
/// <param name="Accounts">That this run has written.</param>
public sealed record RebuildProgress(long Rows, long Read, double Written, double WrittenBefore, long Accounts);

/// <summary>What a rebuild has done.</summary>
/// <param name="Layout">The layout, which lacks nothing.</param>
/// <param name="Accounts">Accounts they made, those that this run wrote.</param>
/// <param name="Transactions">Requests this run made for them.</param>
/// <param name="Removed">Marks that were removed meanwhile, and taken off.</param>
public sealed record RebuildResult(StoreLayout Layout, int Loads, long Rows, long Accounts, long Transactions, int Removed);
