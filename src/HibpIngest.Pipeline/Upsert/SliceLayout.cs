namespace HibpIngest.Pipeline.Upsert;

/// <summary>How a slice's transactions are cut in one layout.</summary>
/// <param name="WithRanges">Whether hashes are written too.</param>
internal readonly record struct SliceLayout(LayoutPlacement Placement, bool WithRanges)
{
    public static SliceLayout Of(StoreLayout layout) => new(new LayoutPlacement(layout.Facts), layout.WritesRanges);
}
