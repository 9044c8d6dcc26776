namespace HibpIngest.Stores;

/// <summary>A load that is being removed, and the progress of its removal.</summary>
/// <param name="Mark">0: it has no mark, and therefore no entities.</param>
/// <param name="SharesMark">A remaining load has the same mark (both from a store upgraded from schema 1): the mark stays on
/// the accounts.</param>
/// <param name="First">The first position whose row still exists; past <paramref name="Last"/> if there is none. The entities
/// of earlier rows are done.</param>
/// <param name="RowsPurged">Rows were purged before the removal started: the remaining ones don't name all entities.</param>
/// <param name="Token">How far the table has been scanned, as recorded by <see cref="ICatalogue.SetRemovalTokenAsync"/>; null:
/// not at all.</param>
public sealed record LoadRemoval(long Load, int Mark, bool SharesMark, long First, long Last, bool RowsPurged, string? Token);
