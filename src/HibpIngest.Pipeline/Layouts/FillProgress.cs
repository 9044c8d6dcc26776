namespace HibpIngest.Pipeline.Layouts;

/// <summary>Progress of a backfill.</summary>
/// <param name="Accounts">Number of accounts that this run has written.</param>
/// <param name="PartsDone">Number of parts of the account table that are complete, in this run or an earlier one.</param>
public sealed record FillProgress(long Accounts, int PartsDone, int Parts);
