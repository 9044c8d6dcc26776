namespace HibpIngest.Breaches;

/// <summary>Prevents an import from adding an address, or one of its subscriptions, again.</summary>
/// <param name="Hash">The hash that <see cref="SuppressionKey"/> computes; never the address.</param>
/// <param name="At">Start of the suppression, in whole seconds.</param>
public sealed record Suppression(string Hash, SuppressionReason Reason, DateTimeOffset At);
