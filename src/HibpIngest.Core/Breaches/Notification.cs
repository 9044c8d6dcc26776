namespace HibpIngest.Breaches;

/// <summary>A mail to be sent once per (kind, subscriber, domain, breach).</summary>
public sealed record Notification
{
    /// <summary>Identifies it for good, across loads; pickup file and Message-ID are made from it.</summary>
    public required long Id { get; init; }

    /// <summary>1-based within its load, given once: where another load has taken some over, there are gaps.</summary>
    public required int Number { get; init; }

    public required string Email { get; init; }

    /// <summary>The subscribed domain; null for a subscriber's own address.</summary>
    public string? Domain { get; init; }

    /// <summary>How many accounts of the domain the load held; 1 for a subscriber's own address.</summary>
    public required long Accounts { get; init; }

    /// <summary>It was refused for good.</summary>
    public bool IsRefused { get; init; }

    /// <summary>It is yet to be sent.</summary>
    public bool IsOpen { get; init; }

    /// <summary>
    /// How often it was claimed since the last word on it; more than the tries allowed means that it ends its process
    /// each time.
    /// </summary>
    public int Attempts { get; init; }

    /// <summary>
    /// One line, no address in it: why it was refused for good, or, of one that is yet to be sent, why it waits; null otherwise.
    /// </summary>
    public string? Error { get; init; }

    /// <summary>How often its recipient's server has asked to come again later.</summary>
    public int Deferrals { get; init; }
}
