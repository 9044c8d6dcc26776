using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>The calls of one client because of one slice: one for each prefix.</summary>
public sealed record CallbackDelivery
{
    public required CallbackKey Key { get; init; }

    /// <summary>The load's breach, as it is called now.</summary>
    public required string Breach { get; init; }

    /// <summary>The breach's flags, as they are now.</summary>
    public required BreachFlags Flags { get; init; }

    public required int Calls { get; init; }

    /// <summary>Which of them were accepted: a bit each in their order, counted from the least significant of byte 0; null: none.</summary>
    public byte[]? Done { get; init; }

    /// <summary>As many of them.</summary>
    public int Answered { get; init; }

    /// <summary>How often it was put off because some of its calls failed.</summary>
    public int Deferrals { get; init; }
}

public readonly record struct CallbackKey(int Client, long Load, int Slice);

/// <param name="Done">As <see cref="CallbackDelivery.Done"/>.</param>
/// <param name="Answered">As many bits are set in it.</param>
/// <param name="Error">One line: why calls of it failed; null: none has.</param>
/// <param name="Pause">Where all that are left failed: how long it is left alone.</param>
public sealed record CallbackResult(
    CallbackKey Key, byte[] Done, int Answered, CallbackState State, string? Error = null, TimeSpan? Pause = null)
{
    /// <summary>Calls of it failed, and it is open yet.</summary>
    public bool HasFailed => State == CallbackState.Open && Error is not null;
}

public enum CallbackState
{
    /// <summary>There are calls of it to be made.</summary>
    Open,

    Done,

    /// <summary>The rest was given up, for an operator.</summary>
    Dead,

    /// <summary>The rest is not to be made: an operator has dropped it, its client was removed, or its breach retired.</summary>
    Dropped,
}

/// <summary>A client that this process alone calls, for a while.</summary>
/// <param name="Failures">Pauses that it was given one behind the other, because nothing could be called.</param>
/// <param name="FailingSince">Since when no call to it was accepted, though some were tried; null: the last one was.</param>
/// <param name="Pause">There is no turn, though nobody else has one: so long it is to be left alone yet. Null: there is.</param>
public sealed record CallbackTurn(int Failures, DateTimeOffset? FailingSince, TimeSpan? Pause = null);

/// <param name="Failures">As of <see cref="CallbackTurn"/>.</param>
/// <param name="Pause">How long the client is left alone; null: not at all.</param>
/// <param name="CallTime">How long a call took, about; null: none was made.</param>
public sealed record CallbackTurnEnd(int Failures, bool HasAnswered, bool HasFailed, TimeSpan? Pause, TimeSpan? CallTime);

/// <summary>What there is of the calls to one client because of one breach.</summary>
/// <param name="Open">Calls to be made yet.</param>
/// <param name="Dead">Calls that were given up.</param>
/// <param name="Dropped">Calls that will not be made.</param>
/// <param name="OldestOpen">When the oldest delivery that is open was recorded; null: none is.</param>
/// <param name="Error">One line: why calls failed; null: none has.</param>
public sealed record CallbackSummary(
    int Client, string Breach, long Open, long Dead, long Answered, long Dropped, DateTimeOffset? OldestOpen, string? Error);

/// <summary>What is known of a client from calling it.</summary>
/// <param name="OldestFor">How long ago the oldest delivery that may be made now was recorded; null: there is none.</param>
/// <param name="CallTime">How long a call took lately, about; null: none was made yet.</param>
/// <param name="IsDue">A delivery of it is due, nobody makes it, and no message for it can be on its way any more.</param>
public sealed record CallbackHealth(int Client, TimeSpan? OldestFor, TimeSpan? CallTime, bool IsDue);
