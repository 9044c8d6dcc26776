namespace HibpIngest.Pipeline;

/// <summary>What a removal has done.</summary>
/// <param name="Loads">The loads that are gone.</param>
/// <param name="Left">Loads of the breach that were not among those listed: it stays with these. Empty: it is gone.</param>
/// <param name="Entities">Entities of the account table that this run has changed.</param>
public sealed record BreachRemoval(string Breach, IReadOnlyList<long> Loads, IReadOnlyList<long> Left, long Entities);
