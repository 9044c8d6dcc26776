using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>How a restored database goes on.</summary>
/// <param name="Loads">Zips that are loaded again.</param>
public sealed record MovedOn(StoreIds Ids, int Loads)
{
    /// <summary>What it knows again from the account log; null: there is none.</summary>
    public LogRecovered? Log { get; init; }

    /// <summary>Breaches that are hidden, as readers were not shown them before the restore.</summary>
    public IReadOnlyList<string> Hidden { get; init; } = [];

    /// <summary>Suppressions that the backup did not have, and that were applied.</summary>
    public int Suppressed { get; init; }

    /// <summary>Rows that the layout lacks that is read: of the log, where the tables were lost too.</summary>
    public long Missing { get; init; }
}
