namespace HibpIngest.Breaches;

/// <summary>That an address, or one subscription of it, is not to come back by an import.</summary>
/// <param name="Hash">What <see cref="SuppressionKey"/> makes of it; never the address.</param>
/// <param name="At">Since when, to the second.</param>
public sealed record Suppression(string Hash, SuppressionReason Reason, DateTimeOffset At);
