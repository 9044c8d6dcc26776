namespace HibpIngest.Breaches;

public sealed record Breach
{
    /// <summary>Unique without regard to case; as first written.</summary>
    public required string Name { get; init; }

    /// <summary>Its metadata; by default just the name as title.</summary>
    public required BreachMetadata Metadata { get; init; }

    /// <summary>An operator took it out of every lookup.</summary>
    public bool Hidden { get; init; }

    /// <summary>
    /// Marks of its published loads, ascending: an account that has one of the properties <c>b{mark}</c> is in
    /// it, any other mark says nothing.
    /// </summary>
    public IReadOnlyList<int> Marks { get; init; } = [];

    /// <summary>When the first of its loads had all accounts in the table and was matched; null before.</summary>
    public DateTimeOffset? PublishedAt { get; init; }

    /// <summary>Whether a public lookup may show it: published, not hidden, neither sensitive nor retired.</summary>
    public bool IsPublic => PublishedAt is not null && !Hidden
        && (Metadata.Flags & (BreachFlags.Sensitive | BreachFlags.Retired)) == BreachFlags.None;
}
