namespace HibpIngest.Pipeline;

/// <summary>How far a removal is, in accounts of the loads that are removed.</summary>
/// <param name="Done">Off the table by now.</param>
/// <param name="Total">All that this run has to do; 0: not known yet.</param>
/// <param name="Waiting">It waits for slices that were under way when it began.</param>
/// <param name="Reason">Why a store is waited for; null: it isn't.</param>
public readonly record struct RemovalProgress(long Done, long Total, bool Waiting = false, string? Reason = null);
