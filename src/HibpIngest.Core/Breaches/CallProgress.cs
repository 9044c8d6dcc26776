namespace HibpIngest.Breaches;

/// <summary>Progress of a load's calls to clients.</summary>
/// <param name="IsLookedThrough">All slices were searched, so the set of calls is complete.</param>
/// <param name="Calls">Calls known so far, in any state.</param>
/// <param name="Open">Calls still to be made.</param>
/// <param name="Dead">Calls that were given up; an operator decides about them.</param>
/// <param name="Error">One line: why slices could not be searched. Null: no error.</param>
/// <param name="MessagesAt">When the messages for searching the slices were last sent.</param>
public sealed record CallProgress(
    bool IsLookedThrough, long Calls, long Answered, long Open, long Dead, string? Error, DateTimeOffset? MessagesAt)
{
    /// <summary>A slice could not be read. No slice is searched until an operator retries (hibp callbacks retry).</summary>
    public bool IsFailed { get; init; }

    /// <summary>The number of <see cref="Open"/> calls whose clients are paused; only set if requested (CallSchedule).</summary>
    public long Paused { get; init; }
}
