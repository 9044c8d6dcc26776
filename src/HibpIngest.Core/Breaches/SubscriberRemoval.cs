namespace HibpIngest.Breaches;

/// <summary>A subscription to be taken away, with what waits to be mailed to it.</summary>
/// <param name="Domain">Of which domain; null: all of the address.</param>
/// <param name="Suppression">What keeps an import from bringing it back; null: nothing does.</param>
public sealed record SubscriberRemoval(string Email, string? Domain, Suppression? Suppression);
