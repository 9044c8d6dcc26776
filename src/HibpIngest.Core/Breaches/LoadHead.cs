namespace HibpIngest.Breaches;

/// <summary>The row of a load without the counts of its slices and notifications.</summary>
public sealed record LoadHead
{
    public required long Id { get; init; }

    public required string Breach { get; init; }

    /// <summary>The breach is hidden from all lookups, and nothing is sent for it.</summary>
    public bool Hidden { get; init; }

    public required BlobVersion Blob { get; init; }

    public required LoadState State { get; init; }

    /// <summary>See <see cref="Load.Mark"/>.</summary>
    public int Mark { get; init; }

    /// <summary>Expiry of the lease. Null: not leased.</summary>
    public DateTimeOffset? LeaseExpiresAt { get; init; }

    /// <summary>When the message for the current state (match, mail) was last sent.</summary>
    public DateTimeOffset? MessageSentAt { get; init; }

    /// <summary>Nothing may be written for this load any more: it is superseded, restarted as another load, or being removed.</summary>
    public bool Stopped { get; init; }

    public bool Purged { get; init; }
}
