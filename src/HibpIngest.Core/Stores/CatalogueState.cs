using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>A consistent state of the database, from which the catalogue is written.</summary>
/// <param name="Version">Counts the changes to the data that readers see.</param>
/// <param name="Breaches">All breaches by name, including hidden and unpublished ones.</param>
public sealed record CatalogueState(long Version, IReadOnlyList<CatalogueBreach> Breaches);

/// <summary>A breach with its catalogue data.</summary>
/// <param name="Breach">The breach, with the marks that count.</param>
/// <param name="ModifiedAt">When its public data last changed; null if it was never published and its metadata never changed.</param>
/// <param name="Zips">Names of the blobs of its published loads, the newest load's first.</param>
public sealed record CatalogueBreach(Breach Breach, long Accounts, DateTimeOffset? ModifiedAt, IReadOnlyList<string> Zips)
{
    /// <summary>Catalogue version at the last change to what the account log records of the breach or of its published loads.</summary>
    public long LogVersion { get; init; }

    /// <summary>Whether readers may see the breach: published, with a mark that counts, and not hidden.</summary>
    public bool IsListed => Breach is { PublishedAt: not null, Hidden: false, Marks.Count: > 0 };
}

/// <summary>Changes to a breach, taken from a catalogue that is newer than the database.</summary>
/// <param name="ModifiedAt">When its metadata last changed.</param>
public sealed record BreachMerge(string Name, BreachMetadata Metadata, bool Hidden, DateTimeOffset? ModifiedAt);
