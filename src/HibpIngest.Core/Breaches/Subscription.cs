namespace HibpIngest.Breaches;

/// <summary>
/// Somebody to be told: of their own address (<see cref="Domain"/> null), or of every account of a domain.
/// Trimmed and lower-case.
/// </summary>
public sealed record Subscription(string Email, string? Domain);
