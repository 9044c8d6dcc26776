namespace HibpIngest.Pipeline.Removal;

/// <summary>Progress of a removal, in accounts of the removed loads.</summary>
/// <param name="Done">Accounts processed.</param>
/// <param name="Total">Accounts that this run has to process; 0: not known yet.</param>
/// <param name="Waiting">Whether it waits for slices that were running when it began.</param>
/// <param name="Reason">Why it waits for a store; null: it doesn't.</param>
public readonly record struct RemovalProgress(long Done, long Total, bool Waiting = false, string? Reason = null);
