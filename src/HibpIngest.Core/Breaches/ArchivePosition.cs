namespace HibpIngest.Breaches;

/// <summary>
/// Where in an archive reading stands: enough to start again at a top-level entry without inflating those
/// before it, with the limits' counts intact.
/// </summary>
/// <param name="Entry">0-based ordinal of the top-level entry, in the order of the central directory.</param>
/// <param name="InflatedBytes">Bytes inflated (all levels) before that entry.</param>
/// <param name="EntriesOpened">Entries opened (all levels) before that entry.</param>
/// <param name="IdleBytes">
/// Compressed bytes (all levels) before that entry that inflated to nothing; none in checkpoints from before they were counted.
/// </param>
public readonly record struct ArchivePosition(int Entry, long InflatedBytes, long EntriesOpened, long IdleBytes = 0);
