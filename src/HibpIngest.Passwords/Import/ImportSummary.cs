namespace HibpIngest.Passwords.Import;

/// <summary>The result of reading, over all runs.</summary>
/// <param name="Start">Where the last run began.</param>
/// <param name="Rows">Hashes read; duplicates count each time, and a password counts once for every mode.</param>
/// <param name="ZeroRows">Hashes skipped because their count is 0.</param>
public sealed record ImportSummary(ImportStart Start, long Lines, long Rows, long ZeroRows);
