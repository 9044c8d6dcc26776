using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>A slice of a published load that is to be looked through for what clients watch.</summary>
/// <param name="Purged">Its load's rows are purged, or some of them: they are to be read from the account log.</param>
/// <param name="IsLookedThrough">It has been, and what was found is recorded.</param>
/// <param name="Told">
/// Marks of the loads of the same blob name in whose place its load was published, and of which clients were called: who is in
/// one of them is not called of again.
/// </param>
public sealed record CallSlice(Slice Slice, int Mark, Breach Breach, bool Purged, bool IsLookedThrough, IReadOnlyList<int> Told);
