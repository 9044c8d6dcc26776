namespace HibpIngest.Pipeline.Catalogue;

/// <summary>The result of publishing the catalogue.</summary>
/// <param name="Written">Number of blobs written; the others were up to date.</param>
/// <param name="Deleted">Number of deleted blobs of breaches that are no longer shown.</param>
public sealed record PublishedCatalogue(long Version, int Breaches, int Written, int Deleted);
