namespace HibpIngest.Breaches;

/// <summary>The row of a load alone: what can be read without counting its slices and notifications.</summary>
public sealed record LoadHead
{
    public required long Id { get; init; }

    public required string Breach { get; init; }

    /// <summary>The breach is out of every lookup; nothing of it is sent.</summary>
    public bool Hidden { get; init; }

    public required BlobVersion Blob { get; init; }

    public required LoadState State { get; init; }

    /// <summary>See <see cref="Load.Mark"/>.</summary>
    public int Mark { get; init; }

    /// <summary>Expiry of its lease; null when nobody holds it.</summary>
    public DateTimeOffset? LeaseExpiresAt { get; init; }

    /// <summary>When the message of its state (match, mail) was last sent.</summary>
    public DateTimeOffset? MessageSentAt { get; init; }

    /// <summary>Nothing of it may be written any more: superseded, restarted as another load, or being removed.</summary>
    public bool Stopped { get; init; }

    public bool Purged { get; init; }
}
