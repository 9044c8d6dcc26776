namespace HibpIngest.Stores;

/// <summary>A load that is being removed, and how far that is.</summary>
/// <param name="Mark">Its mark; 0: it has none, and so no entity.</param>
/// <param name="SharesMark">
/// A load that stays has the mark too (both of a store upgraded from schema 1): the mark stays on the accounts.
/// </param>
/// <param name="First"> The first position whose row is still there; past <paramref name="Last"/> where none
/// is. The entities of the rows before it are done. </param>
/// <param name="RowsPurged">Rows were purged before the removal began: those left don't name all entities.</param>
/// <param name="Token">
/// How far the table has been walked, as recorded by <see cref="IRemovals.SetRemovalTokenAsync"/>; null: it has not.
/// </param>
public sealed record LoadRemoval(long Load, int Mark, bool SharesMark, long First, long Last, bool RowsPurged, string? Token);
