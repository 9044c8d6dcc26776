using HibpIngest.Journal.Merge;

namespace HibpIngest.Pipeline.Layouts;

/// <param name="Name">Name of the layout. A new one is added; to an existing one, the missing rows are written.</param>
public sealed record RebuildOrder(string Name)
{
    /// <summary>Numbers of the storage accounts; null for those of the existing layout, or of the one that is read.</summary>
    public IReadOnlyList<int>? StorageAccounts { get; init; }

    /// <summary>Domains that are spread over several partitions; null for those of the existing layout, or none.</summary>
    public IReadOnlyDictionary<string, int>? SpreadDomains { get; init; }

    /// <summary>True if hashes are written too; null to do as the existing layout, or if the layout that is read has them.</summary>
    public bool? Ranges { get; init; }

    /// <summary>Memory for the accounts that are merged at a time, in bytes.</summary>
    public long MemoryBytes { get; init; } = MergeAccounts.DefaultMemoryBytes;

    /// <summary>Folder for temporary files, some 21 bytes a row.</summary>
    public string Folder { get; init; } = Path.GetTempPath();
}

/// <summary>Progress of a rebuild: first rows are read, then the resulting accounts are written.</summary>
/// <param name="WrittenFraction">Fraction written, 0 to 1, by this run or an earlier one.</param>
/// <param name="WrittenFractionBefore">Fraction written by earlier runs.</param>
/// <param name="Accounts">Number of accounts that this run has written.</param>
public sealed record RebuildProgress(long Rows, long Read, double WrittenFraction, double WrittenFractionBefore, long Accounts);

/// <param name="Accounts">Number of accounts that this run wrote for the loads.</param>
/// <param name="Transactions">Number of requests that this run made for them.</param>
/// <param name="Removed">Number of marks that were retired during the rebuild, and removed.</param>
public sealed record RebuildResult(StoreLayout Layout, int Loads, long Rows, long Accounts, long Transactions, int Removed);
