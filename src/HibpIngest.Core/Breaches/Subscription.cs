namespace HibpIngest.Breaches;

/// <summary>
/// Subscribes an address to notifications about itself (<see cref="Domain"/> null) or about every account of a domain. Trimmed and
/// lower-case.
/// </summary>
public sealed record Subscription(string Email, string? Domain);

/// <summary>A subscription to remove, together with its pending notifications.</summary>
/// <param name="Domain">The subscribed domain; null for all subscriptions of the address.</param>
/// <param name="Suppression">Suppression that prevents an import from adding the subscription again; null if an import may add it.</param>
public sealed record SubscriberRemoval(string Email, string? Domain, Suppression? Suppression);

/// <summary>Prevents an import from adding an address, or one of its subscriptions, again.</summary>
/// <param name="Hash">The hash that <see cref="SuppressionKey"/> computes; never the address.</param>
/// <param name="At">Start of the suppression, in whole seconds.</param>
public sealed record Suppression(string Hash, SuppressionReason Reason, DateTimeOffset At);

/// <summary>Reason why an address must not be notified, even if it is imported again.</summary>
public enum SuppressionReason
{
    Unsubscribed,

    Bounced,

    Complaint,

    /// <summary>The subscriber asked for erasure: only the hash remains.</summary>
    Forgotten,
}
