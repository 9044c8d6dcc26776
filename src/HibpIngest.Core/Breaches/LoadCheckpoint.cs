using HibpIngest.Accounts;

namespace HibpIngest.Breaches;

/// <summary>
/// Committed with each batch. A rerun fills the dedupe set from the rows before
/// <see cref="EntryFirstPosition"/>, opens the archive at <see cref="Entry"/>, counts positions on from there,
/// and copies only those past the last committed one. Stored as JSON.
/// </summary>
public sealed record LoadCheckpoint
{
    /// <summary>The top-level entry in which the batch ended, with the limits' counts before it.</summary>
    public ArchivePosition Entry { get; init; }

    /// <summary>Position that the first new account of that entry has.</summary>
    public long EntryFirstPosition { get; init; } = 1;

    /// <summary>Counts as they stood when that entry was opened.</summary>
    public RejectionCounts RejectedBeforeEntry { get; init; } = new();

    /// <summary>Counts as they stood at the end of the batch, to be shown.</summary>
    public RejectionCounts Rejected { get; init; } = new();

    /// <summary>Bytes of the blob read so far, for progress; and its length.</summary>
    public long BlobBytesRead { get; init; }

    public long BlobBytes { get; init; }
}
