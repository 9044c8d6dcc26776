namespace HibpIngest.Stores;

/// <summary>The rows of loads: in the database, in the journal, and recovered from there.</summary>
public interface ILoadRows
{
    /// <summary>
    /// Fills <paramref name="into"/> (cleared first) with the rows of these positions in order, up to its capacity, and sets its
    /// FirstPosition. One range scan.
    /// </summary>
    Task ReadRowsAsync(LoadId load, long first, long last, AccountBatch into, CancellationToken cancellationToken);

    /// <summary>
    /// Deletes at most <paramref name="chunkRows"/> rows of a done or failed load. From the first chunk on, the load can't be resumed or
    /// requeued.
    /// </summary>
    /// <param name="requireJournaled">Delete the first chunk only if the load isn't current, or is in the journal.</param>
    /// <returns>The number of deleted rows; 0: the load is marked as purged.</returns>
    /// <exception cref="Errors.NotPossibleException">No such load, or it is still open, or not in the journal.</exception>
    Task<int> PurgeRowsAsync(LoadId load, int chunkRows, CancellationToken cancellationToken, bool requireJournaled = false);

    /// <summary>
    /// Deletes the rows of a load that is being removed, up to this position, after its mark was removed from their accounts. Does nothing
    /// for any other load.
    /// </summary>
    /// <returns>The number of deleted rows.</returns>
    Task<int> DeleteRowsUpToAsync(LoadId load, long position, CancellationToken cancellationToken);

    /// <summary>Returns the data of a load for the journal.</summary>
    Task<JournalEntry?> GetJournalEntryAsync(LoadId load, CancellationToken cancellationToken);

    /// <summary>
    /// Divides a load into segments of this many rows, unless that was done before. All rows must be copied and not purged.
    /// </summary>
    /// <returns>The segments, in order; none if nothing of the load has to be written (any more).</returns>
    Task<IReadOnlyList<JournalSegment>> PlanSegmentsAsync(LoadId load, long segmentRows, CancellationToken cancellationToken);

    /// <summary>Records that a segment is completely written.</summary>
    Task MarkSegmentWrittenAsync(LoadId load, int segment, long bytes, CancellationToken cancellationToken);

    /// <summary>
    /// Records the version that the load's newest document describes, and clears the error; never lowers the version. Does nothing for a
    /// load that is being removed.
    /// </summary>
    Task MarkJournaledAsync(LoadId load, long version, CancellationToken cancellationToken);

    /// <summary>Clears the recorded journal state of a load whose rows all exist, so that it is checked and written again.</summary>
    Task ForgetJournalAsync(LoadId load, CancellationToken cancellationToken);
    Task MarkJournalMessageSentAsync(LoadId load, CancellationToken cancellationToken);

    /// <summary>Records in one line why a load could not be written to the journal.</summary>
    Task SetJournalErrorAsync(LoadId load, string error, CancellationToken cancellationToken);

    /// <summary>
    /// Recovers a load that is unknown or unpublished here: it becomes done, with its mark, slices and segments, but without rows, and
    /// sends no mails. The breach's data is updated if the journal is newer. For a load that is published here, only the breach's data, a
    /// replacement, or an assignment to another breach is taken over. Idempotent.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">Its id, its mark or its blob version belongs to another load here; nothing was
    /// changed.</exception>
    Task<RecoveryStep> RecoverLoadAsync(LoadRecovery load, CancellationToken cancellationToken);

    /// <summary>Records that a published load was replaced by another one: its mark is no longer current.</summary>
    /// <returns>False if there is no such load, or it isn't published.</returns>
    Task<bool> SetReplacedAsync(LoadId load, LoadId by, CancellationToken cancellationToken);
}
