namespace HibpIngest.Pipeline.Removal;

/// <summary>The result of a removal.</summary>
/// <param name="Loads">The removed loads.</param>
/// <param name="Left">Loads of the breach that came after the removal began: the breach stays with these. Empty: it is removed.</param>
/// <param name="Entities">Number of entities of the account table that this run has changed.</param>
public sealed record BreachRemoval(string Breach, IReadOnlyList<long> Loads, IReadOnlyList<long> Left, long Entities);
