namespace HibpIngest.Breaches;

/// <summary>A subscription to remove, together with its pending notifications.</summary>
/// <param name="Domain">The subscribed domain; null: all subscriptions of the address.</param>
/// <param name="Suppression">Prevents an import from adding the subscription again; null: an import may add it again.</param>
public sealed record SubscriberRemoval(string Email, string? Domain, Suppression? Suppression);
