namespace HibpIngest.Passwords;

/// <summary>What was read, in all runs that it took.</summary>
/// <param name="Start">Where the last of them began.</param>
/// <param name="Rows">Hashes, the same one as often as it came; of passwords each counts for every mode.</param>
/// <param name="ZeroRows">Hashes left out because their count is 0.</param>
public sealed record ImportSummary(ImportStart Start, long Lines, long Rows, long ZeroRows);
