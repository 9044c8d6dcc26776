using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <param name="Slice">Its range; <see cref="Slice.Attempts"/> includes the attempt just started.</param>
/// <param name="Mark">The load's mark; names the property to write.</param>
public sealed record SliceWork(Slice Slice, int Mark, string Breach)
{
    /// <summary>Expiry of another owner's live lease: no attempt was started.</summary>
    public DateTimeOffset? HeldUntil { get; init; }

    /// <summary>Rows of the load are purged, at least some: read them from the account log.</summary>
    public bool Purged { get; init; }

    /// <summary>All layouts that the slice must be written to.</summary>
    public LayoutSet Layouts { get; init; } = LayoutSet.None;

    /// <summary>Progress of earlier attempts. Null: none is recorded.</summary>
    public SliceProgress? Progress { get; init; }
}
