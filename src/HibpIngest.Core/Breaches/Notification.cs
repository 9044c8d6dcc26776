namespace HibpIngest.Breaches;

/// <summary>A mail that is sent once per (kind, subscriber, domain, breach).</summary>
public sealed record Notification
{
    /// <summary>Permanent id, unique across loads. The pickup file's name and the Message-ID are derived from it.</summary>
    public required long Id { get; init; }

    /// <summary>1-based number within the load, assigned once. There are gaps if another load took over notifications.</summary>
    public required int Number { get; init; }

    /// <summary>Random id of the subscription, which names it in links.</summary>
    public Guid Subscription { get; init; }
    public required string Email { get; init; }

    /// <summary>The subscribed domain. If null, the notification is for the subscriber's own address.</summary>
    public string? Domain { get; init; }

    /// <summary>Number of the domain's accounts in the load; 1 for the subscriber's own address.</summary>
    public required long Accounts { get; init; }
    public bool IsRefused { get; init; }
    public bool IsOpen { get; init; }

    /// <summary>
    /// Claims since the last recorded outcome. Exceeding the maximum means that the notification crashes its process each time.
    /// </summary>
    public int Attempts { get; init; }

    /// <summary>One line, without an address: why the notification was permanently refused, or, if it is open, why it waits.</summary>
    public string? Error { get; init; }
    public int Deferrals { get; init; }
}
