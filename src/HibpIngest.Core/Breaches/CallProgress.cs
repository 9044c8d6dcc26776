namespace HibpIngest.Breaches;

/// <summary>How far the calls of a load to clients are.</summary>
/// <param name="IsLookedThrough">All its slices were looked through: which calls there are to make is known.</param>
/// <param name="Calls">All that are known by now, of every state.</param>
/// <param name="Open">Those that are to be made yet.</param>
/// <param name="Dead">Those that were given up, for an operator.</param>
/// <param name="Error">One line: why its slices could not be looked through; null: they could, or are being.</param>
/// <param name="MessagesAt">When the messages that have its slices looked through were last sent.</param>
public sealed record CallProgress(
    bool IsLookedThrough, long Calls, long Answered, long Open, long Dead, string? Error, DateTimeOffset? MessagesAt)
{
    /// <summary>A slice could not be read: none is looked through again until an operator says so (hibp callbacks retry).</summary>
    public bool IsFailed { get; init; }

    /// <summary>Those among <see cref="Open"/> whose clients are paused, where that was asked for (CallSchedule).</summary>
    public long Paused { get; init; }
}
