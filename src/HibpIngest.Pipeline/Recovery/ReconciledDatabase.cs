using HibpIngest.Pipeline.Journal;

namespace HibpIngest.Pipeline.Recovery;

/// <summary>The result of <see cref="ReconcileRestoredDatabase"/>.</summary>
/// <param name="Loads">Number of zips that are loaded again.</param>
public sealed record ReconciledDatabase(StoreIds Ids, int Loads)
{
    /// <summary>The part restored from the journal; null: there is no journal.</summary>
    public JournalRecovered? Log { get; init; }

    /// <summary>Breaches that are hidden because readers were not shown them before the restore.</summary>
    public IReadOnlyList<string> Hidden { get; init; } = [];

    /// <summary>Number of suppressions that the backup lacked and that were applied.</summary>
    public int Suppressed { get; init; }

    /// <summary>Rows that the layout that is read lacks; those of the journal if the tables were lost too.</summary>
    public long Missing { get; init; }
}
