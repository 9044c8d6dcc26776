using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <summary>A slice of a published load that must be searched for the prefixes that clients watch.</summary>
/// <param name="Purged">Rows of its load are purged, at least some: read them from the account log.</param>
/// <param name="IsLookedThrough">It was searched, and the result is recorded.</param>
/// <param name="Told">Marks of the replaced loads of the same blob name for which clients were called. Accounts with one of
/// these marks cause no further call.</param>
public sealed record CallSlice(Slice Slice, int Mark, Breach Breach, bool Purged, bool IsLookedThrough, IReadOnlyList<int> Told);
