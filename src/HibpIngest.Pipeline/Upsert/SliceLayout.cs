using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>What a slice's transactions in one layout are cut by.</summary>
/// <param name="Placement">Where its accounts and hashes lie.</param>
/// <param name="WithRanges">Hashes are written beside accounts.</param>
internal readonly record struct SliceLayout(LayoutPlacement Placement, bool WithRanges)
{
    public static SliceLayout Of(StoreLayout layout) => new(new LayoutPlacement(layout.Facts), layout.WritesRanges);
}
