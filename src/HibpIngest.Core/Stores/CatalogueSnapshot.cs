using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>What the catalogue is written from: one state of the database.</summary>
/// <param name="Version">How often what readers see was changed.</param>
/// <param name="Breaches">All of them, hidden and unpublished ones too; by name.</param>
public sealed record CatalogueSnapshot(long Version, IReadOnlyList<CatalogueBreach> Breaches);

/// <summary>A breach with what the catalogue says of it beside its metadata.</summary>
/// <param name="Breach">The breach, with the marks that count.</param>
/// <param name="ModifiedAt">When what is told of it last changed; null where it was never published, nor described anew.</param>
/// <param name="Zips">Names of the blobs of its published loads, the newest load's first.</param>
public sealed record CatalogueBreach(Breach Breach, long Accounts, DateTimeOffset? ModifiedAt, IReadOnlyList<string> Zips)
{
    /// <summary>The catalogue's version when what the account log tells of the breach, or of its published loads, last changed.</summary>
    public long LogVersion { get; init; }

    /// <summary>Whether readers may know of it: published, with a mark that counts, and not hidden.</summary>
    public bool IsListed => Breach is { PublishedAt: not null, Hidden: false, Marks.Count: > 0 };
}

/// <summary>What is taken over for a breach from a catalogue that is newer than the database.</summary>
/// <param name="ModifiedAt">When its metadata last changed.</param>
public sealed record BreachMerge(string Name, BreachMetadata Metadata, bool Hidden, DateTimeOffset? ModifiedAt);
