namespace HibpIngest.Breaches;

/// <summary>
/// Subscribes an address to notifications about itself (<see cref="Domain"/> null) or about every account of a domain. Trimmed
/// and lower-case.
/// </summary>
public sealed record Subscription(string Email, string? Domain);
