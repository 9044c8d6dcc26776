using HibpIngest.Breaches;

namespace HibpIngest.Stores;

/// <param name="Slice">Its range; <see cref="Slice.Attempts"/> includes the try just begun.</param>
/// <param name="Mark">The load's; names the property to write.</param>
public sealed record SliceWork(Slice Slice, int Mark, string Breach)
{
    /// <summary>Somebody else's lease is alive, until then: no try was begun.</summary>
    public DateTimeOffset? HeldUntil { get; init; }

    /// <summary>Its load's rows are purged, or some of them: they are to be read from the account log.</summary>
    public bool Purged { get; init; }

    /// <summary>The layouts that it is to be written in, all of them.</summary>
    public LayoutSet Layouts { get; init; } = LayoutSet.None;

    /// <summary>How far earlier tries came; null: nothing is recorded.</summary>
    public SliceProgress? Progress { get; init; }
}
