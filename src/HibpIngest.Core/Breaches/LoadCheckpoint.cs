namespace HibpIngest.Breaches;

/// <summary>
/// Committed with each batch. A rerun fills the dedupe set from the rows before <see cref="EntryFirstPosition"/>, opens the archive at
/// <see cref="Entry"/>, continues counting positions from there, and copies only those after the last committed one. Stored as JSON.
/// </summary>
public sealed record LoadCheckpoint
{
    /// <summary>The top-level entry in which the batch ended, with the counts for the limits before it.</summary>
    public ArchivePosition Entry { get; init; }

    /// <summary>Position of the first new account of that entry.</summary>
    public long EntryFirstPosition { get; init; } = 1;

    /// <summary>Counts at the time that entry was opened.</summary>
    public RejectionCounts RejectedBeforeEntry { get; init; } = new();

    /// <summary>Counts at the end of the batch, for display.</summary>
    public RejectionCounts Rejected { get; init; } = new();
    public long BlobBytesRead { get; init; }
    public long BlobBytes { get; init; }
}

/// <summary>
/// Reading position in an archive: enough to resume at a top-level entry without inflating earlier entries, with the counts for the limits
/// intact.
/// </summary>
/// <param name="Entry">0-based ordinal of the top-level entry, in the order of the central directory.</param>
/// <param name="InflatedBytes">Bytes inflated (all levels) before that entry.</param>
/// <param name="EntriesOpened">Entries opened (all levels) before that entry.</param>
/// <param name="IdleBytes">Compressed bytes (all levels) before that entry that inflated to nothing; 0 in checkpoints written before they
/// were counted.</param>
public readonly record struct ArchivePosition(int Entry, long InflatedBytes, long EntriesOpened, long IdleBytes = 0);
