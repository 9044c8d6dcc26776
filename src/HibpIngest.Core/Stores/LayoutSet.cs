using HibpIngest.Errors;

namespace HibpIngest.Stores;

/// <summary>The layouts that every slice is written in.</summary>
/// <param name="Version">Raised by whatever changes the set; 0: nothing is in it yet.</param>
public sealed record LayoutSet(int Version, IReadOnlyList<StoreLayout> Layouts)
{
    /// <summary>Of a store that has none yet: accounts are written as they would be in the first.</summary>
    public static LayoutSet None { get; } = new(0, []);

    /// <summary>What accounts are written in.</summary>
    public IReadOnlyList<StoreLayout> Written => Layouts.Count > 0 ? Layouts : [StoreLayout.First];

    /// <summary>Whether hashes are written beside accounts, in any of them.</summary>
    public bool WritesRanges => Layouts.Any(layout => layout.WritesRanges);

    /// <summary>Makes sure that this program knows all of it: a part that is left out would be missing for readers.</summary>
    /// <exception cref="StoreMismatchException">A newer program has added to it.</exception>
    public void RequireKnown()
    {
        foreach (var layout in Layouts)
        {
            var fault = layout.Facts.FindFault() ?? (Enum.IsDefined(layout.Ranges) ? null : $"ranges in state {(int)layout.Ranges}");
            if (fault is not null)
            {
                throw new StoreMismatchException(
                    $"the store is written in {Layouts.Count} layouts, of which this program doesn't know number {layout.Id} ({fault}): "
                    + "use the newer program");
            }
        }
    }
}
