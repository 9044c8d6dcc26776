namespace HibpIngest.Breaches;

/// <summary>
/// Reading position in an archive: enough to resume at a top-level entry without inflating earlier entries, with the counts for
/// the limits intact.
/// </summary>
/// <param name="Entry">0-based ordinal of the top-level entry, in the order of the central directory.</param>
/// <param name="InflatedBytes">Bytes inflated (all levels) before that entry.</param>
/// <param name="EntriesOpened">Entries opened (all levels) before that entry.</param>
/// <param name="IdleBytes">Compressed bytes (all levels) before that entry that inflated to nothing; 0 in checkpoints written
/// before they were counted.</param>
public readonly record struct ArchivePosition(int Entry, long InflatedBytes, long EntriesOpened, long IdleBytes = 0);
