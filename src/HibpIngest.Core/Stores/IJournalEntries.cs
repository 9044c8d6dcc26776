namespace HibpIngest.Stores;

/// <summary>The state of each load in the account log, and the data to be written there.</summary>
/// <remarks>The rules in <see cref="IBreachDatabase"/> apply.</remarks>
public interface IJournalEntries
{
    /// <summary>Returns the data of a load for the account log.</summary>
    /// <returns>Null if there is no such load.</returns>
    Task<JournalEntry?> GetLogEntryAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// Divides a load into segments of this many rows, unless that was done before. All rows must be copied and not purged.
    /// </summary>
    /// <returns>The segments, in order; none if nothing of the load has to be written (any more).</returns>
    Task<IReadOnlyList<JournalSegment>> PlanSegmentsAsync(long load, long segmentRows, CancellationToken cancellationToken);

    /// <summary>Records that a segment is completely written.</summary>
    Task MarkSegmentWrittenAsync(long load, int segment, long bytes, CancellationToken cancellationToken);

    /// <summary>
    /// Records the version that the load's newest document describes, and clears the error; never lowers the version. Does
    /// nothing for a load that is being removed.
    /// </summary>
    Task MarkLoggedAsync(long load, long version, CancellationToken cancellationToken);

    /// <summary>Clears the recorded log state of a load whose rows all exist, so that it is checked and written again.</summary>
    Task ForgetLogAsync(long load, CancellationToken cancellationToken);

    /// <summary>Records that the message for logging the load was sent.</summary>
    Task MarkLogMessageSentAsync(long load, CancellationToken cancellationToken);

    /// <summary>Records in one line why a load could not be logged.</summary>
    Task SetLogErrorAsync(long load, string error, CancellationToken cancellationToken);
}
