namespace HibpIngest.Breaches;

/// <summary>A mail to be sent once per (kind, subscriber, domain, breach).</summary>
public sealed record Notification
{
    /// <summary>Identifies it for good, across loads; pickup file and Message-ID are made from it.</summary>
    public required long Id { get; init; }

    /// <summary>1-based, gapless within its load.</summary>
    public required int Number { get; init; }

    /// <summary>Address of the subscriber.</summary>
    public required string Email { get; init; }

    /// <summary>The subscribed domain; null for a subscriber's own address.</summary>
    public string? Domain { get; init; }

    /// <summary>How many accounts of the domain the load held; 1 for a subscriber's own address.</summary>
    public required long Accounts { get; init; }
}
