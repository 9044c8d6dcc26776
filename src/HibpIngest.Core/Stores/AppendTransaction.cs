namespace HibpIngest.Stores;

/// <summary>Hashes that somebody sent together, to be added to Pwned Passwords together.</summary>
public sealed record AppendTransaction
{
    /// <summary>Who sent it: its API key's hash.</summary>
    public required string Subscription { get; init; }

    public required Guid Id { get; init; }

    public AppendState State { get; init; }

    public required DateTimeOffset CreatedAt { get; init; }

    public required int Sha1Rows { get; init; }

    public required int NtlmRows { get; init; }

    /// <summary>When a message for it was last sent; null: none was yet.</summary>
    public DateTimeOffset? SentAt { get; init; }

    /// <summary>The release that it is added to; null: that is not decided yet.</summary>
    public string? Release { get; init; }

    /// <summary>
    /// Which of its parts are added: a bit each, the first the lowest of the first byte; those behind the last part are set. Empty:
    /// it is not known yet which parts there are.
    /// </summary>
    public ReadOnlyMemory<byte> PartsDone { get; init; }

    /// <summary>When all of it was added; null: it is not yet.</summary>
    public DateTimeOffset? DoneAt { get; init; }

    /// <summary>The version that was read; null: it was not read.</summary>
    public string? ETag { get; init; }
}

public enum AppendState
{
    /// <summary>Sent, and not confirmed.</summary>
    Sent = 0,

    /// <summary>Confirmed: it will be added.</summary>
    Confirmed,

    Done,
}
