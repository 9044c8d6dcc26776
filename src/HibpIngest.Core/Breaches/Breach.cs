namespace HibpIngest.Breaches;

public sealed record Breach
{
    /// <summary>Unique, ignoring case; spelled as first written.</summary>
    public required string Name { get; init; }

    /// <summary>Defaults to the name as title.</summary>
    public required BreachMetadata Metadata { get; init; }
    public bool Hidden { get; init; }

    /// <summary>
    /// Marks of the published loads, ascending. An account belongs to the breach if it has one of the properties <c>b{mark}</c> of these
    /// marks; all other such properties are ignored.
    /// </summary>
    public IReadOnlyList<int> Marks { get; init; } = [];

    /// <summary>When the breach's first load was fully upserted and matched. Null if none is yet.</summary>
    public DateTimeOffset? PublishedAt { get; init; }

    /// <summary>True if the breach is in the catalogue: published, with a mark, and not hidden. It may be sensitive or retired.</summary>
    public bool IsListed => this is { PublishedAt: not null, Hidden: false, Marks.Count: > 0 };

    /// <summary>True if lookups of an address may show the breach to anybody: not if it is hidden, sensitive or retired.</summary>
    public bool IsPublic => PublishedAt is not null && !Hidden
        && (Metadata.Flags & (BreachFlags.Sensitive | BreachFlags.Retired)) == BreachFlags.None;
}
