namespace HibpIngest.Pipeline;

/// <summary>What a publication of the catalogue did.</summary>
/// <param name="Written">Blobs written; the others were as they should be.</param>
/// <param name="Deleted">Blobs of breaches that are no longer shown.</param>
public sealed record PublishedCatalogue(long Version, int Breaches, int Written, int Deleted);
