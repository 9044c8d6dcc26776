namespace HibpIngest.Stores;

/// <summary>The calls to one client for one slice: one per prefix.</summary>
public sealed record CallbackDelivery
{
    public required CallbackKey Key { get; init; }
    public required string Breach { get; init; }
    public required BreachFlags Flags { get; init; }
    public required int Calls { get; init; }

    /// <summary>
    /// Bitmap of the accepted calls, in their order, counted from the least significant bit of byte 0. Null if none was accepted.
    /// </summary>
    public byte[]? Done { get; init; }
    public int Answered { get; init; }

    /// <summary>How often the delivery was deferred because some of its calls failed.</summary>
    public int Deferrals { get; init; }
}

public readonly record struct CallbackKey(int Client, LoadId Load, int Slice);

/// <param name="Done">See <see cref="CallbackDelivery.Done"/>.</param>
/// <param name="Answered">Number of bits set in <paramref name="Done"/>.</param>
/// <param name="Error">Why calls failed, in one line. Null if none failed.</param>
/// <param name="Pause">If all remaining calls failed: the delay before the next attempt.</param>
public sealed record CallbackResult(
    CallbackKey Key, byte[] Done, int Answered, CallbackState State, string? Error = null, TimeSpan? Pause = null)
{
    /// <summary>True if calls failed and the delivery is still open.</summary>
    public bool HasFailed => State == CallbackState.Open && Error is not null;
}

public enum CallbackState
{
    /// <summary>Calls are still to be made.</summary>
    Open,

    Done,

    /// <summary>
    /// The remaining calls must not be made: an operator dropped them, the client was removed, or the breach was retired.
    /// </summary>
    Dropped,
}

/// <summary>A lease on a client: only its owner calls the client.</summary>
/// <param name="Failures">Consecutive pauses of the client because no call succeeded.</param>
/// <param name="FailingSince">Since when no attempted call was accepted. Null if the last call was accepted.</param>
/// <param name="Pause">How long the client must not be called. If set, no lease was acquired, although the client is free.</param>
public sealed record CallbackTurn(int Failures, DateTimeOffset? FailingSince, TimeSpan? Pause = null);

/// <param name="Failures">See <see cref="CallbackTurn"/>.</param>
/// <param name="Pause">How long the client must not be called. Null if there is no pause.</param>
/// <param name="CallTime">Approximate duration of a call. Null if none was made.</param>
public sealed record CallbackTurnEnd(int Failures, bool HasAnswered, bool HasFailed, TimeSpan? Pause, TimeSpan? CallTime);

/// <summary>State of the calls to one client for one breach.</summary>
/// <param name="Open">Calls still to be made.</param>
/// <param name="Abandoned">Calls that were abandoned after the time limit (stored as 'dead'); an operator retries or drops them.</param>
/// <param name="Dropped">Calls that will not be made.</param>
/// <param name="OldestOpen">When the oldest open delivery was recorded. Null if none is open.</param>
/// <param name="Error">Why calls failed, in one line. Null if none failed.</param>
public sealed record CallbackSummary(
    int Client, string Breach, long Open, long Abandoned, long Answered, long Dropped, DateTimeOffset? OldestOpen, string? Error);

/// <summary>State of a client, derived from the calls to it.</summary>
/// <param name="OldestFor">Age of the oldest delivery that may be made now. Null if there is none.</param>
/// <param name="CallTime">Approximate duration of recent calls. Null if none was made yet.</param>
/// <param name="IsDue">A delivery is due, no process holds the client's lease, and a message for it can no longer be in transit.</param>
public sealed record CallbackHealth(int Client, TimeSpan? OldestFor, TimeSpan? CallTime, bool IsDue);
