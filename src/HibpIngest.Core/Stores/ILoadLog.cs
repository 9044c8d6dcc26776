namespace HibpIngest.Stores;

/// <summary>What of each load is in the account log, and what it is to tell.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface ILoadLog
{
    /// <summary>What the log is to tell of a load; null where there is none.</summary>
    Task<LoadLogEntry?> GetLogEntryAsync(long load, CancellationToken cancellationToken);

    /// <summary>
    /// Cuts a load whose rows are all copied, and still there, into segments of so many, unless it is cut already.
    /// </summary>
    /// <returns>Its segments, in order; none where nothing of it is to be written (any more).</returns>
    Task<IReadOnlyList<LogSegment>> PlanSegmentsAsync(long load, long segmentRows, CancellationToken cancellationToken);

    /// <summary>A segment is there, whole.</summary>
    Task MarkSegmentWrittenAsync(long load, int segment, long bytes, CancellationToken cancellationToken);

    /// <summary>
    /// The load's newest document tells what was to be told at that version, and nothing stands in the way; never
    /// lowered. Nothing happens to a load that is being removed.
    /// </summary>
    Task MarkLoggedAsync(long load, long version, CancellationToken cancellationToken);

    /// <summary>
    /// Nothing is known any more of what the log has of a load whose rows are all there: it is looked at, and written, again.
    /// </summary>
    Task ForgetLogAsync(long load, CancellationToken cancellationToken);

    /// <summary>The message that has the load logged has just been sent.</summary>
    Task MarkLogMessageSentAsync(long load, CancellationToken cancellationToken);

    /// <summary>One line: why it could not be logged.</summary>
    Task SetLogErrorAsync(long load, string error, CancellationToken cancellationToken);
}
