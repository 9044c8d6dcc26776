namespace HibpIngest.Breaches;

/// <summary>10,000 (by default) consecutive positions of a load, within one batch, upserted by one message.</summary>
public sealed record Slice
{
    public required LoadId Load { get; init; }

    /// <summary>1-based, gapless within the load.</summary>
    public required int Number { get; init; }
    public required long First { get; init; }
    public required long Last { get; init; }
    public required int Count { get; init; }
    public required SliceState State { get; init; }

    /// <summary>Attempts started since the slice was last requeued.</summary>
    public int Attempts { get; init; }
    public string? Error { get; init; }

    /// <summary>Time at which its message was last recorded as sent.</summary>
    public DateTimeOffset? QueuedAt { get; init; }
    public DateTimeOffset? DoneAt { get; init; }
}

/// <summary>States of a slice; stored by name in lower case.</summary>
public enum SliceState
{
    /// <summary>Committed; its message is still to be sent.</summary>
    Pending,

    Queued,

    /// <summary>All its accounts are in the table.</summary>
    Done,

    /// <summary>All attempts are used up.</summary>
    Failed,
}
