namespace HibpIngest.Pipeline.Journal;

/// <summary>The result of restoring a database from the journal.</summary>
/// <param name="Loads">Loads that were unknown or not published, and were restored.</param>
/// <param name="Told">Breaches whose details were updated.</param>
/// <param name="Hidden">Breaches that are hidden because no document says that they may be shown.</param>
/// <param name="Removed">Breaches that were removed again.</param>
/// <param name="Begun">Folders of loads without a document: they were not restored.</param>
/// <param name="Problems">One line for each thing that could not be done.</param>
public sealed record JournalRecovered(
    IReadOnlyList<RecoveredLoad> Loads, IReadOnlyList<string> Told, IReadOnlyList<string> Hidden, IReadOnlyList<string> Removed,
    IReadOnlyList<string> Begun, IReadOnlyList<string> Problems);

/// <summary>A restored load.</summary>
/// <param name="Counts">False: another load was published in its place.</param>
public sealed record RecoveredLoad(long Load, string Breach, long Rows, bool Counts);
