namespace HibpIngest.Pipeline;

/// <summary>How far a fill is.</summary>
/// <param name="Accounts">Accounts that this run has written.</param>
/// <param name="PartsDone">Parts of the account table that have been walked to their end, by this run or one before.</param>
public sealed record FillProgress(long Accounts, int PartsDone, int Parts);
