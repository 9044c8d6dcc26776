using HibpIngest.Errors;

namespace HibpIngest.Stores;

/// <summary>The layouts that every slice is written in.</summary>
/// <param name="Version">Raised by whatever changes the set; 0: nothing is in it yet.</param>
/// <param name="Layouts">By id.</param>
public sealed record LayoutSet(int Version, IReadOnlyList<StoreLayout> Layouts)
{
    /// <summary>Of a store that has none yet: accounts are written as they would be in the first.</summary>
    public static LayoutSet None { get; } = new(0, []);

    /// <summary>Whether hashes are written beside accounts.</summary>
    public bool WritesRanges => Layouts.Any(layout => layout.Ranges != RangesState.Off);

    /// <summary>Makes sure that this program knows all of it: a part that is left out would be missing for readers.</summary>
    /// <exception cref="StoreMismatchException">A newer program has added to it.</exception>
    public void RequireKnown()
    {
        if (Layouts.Count > 1 || Layouts.Any(layout => layout.Facts != new LayoutFacts() || !Enum.IsDefined(layout.Ranges)))
        {
            throw new StoreMismatchException(
                $"the store is written in {Layouts.Count} layouts, the last of them with number {Layouts[^1].Id}; this program knows one, "
                + "with tables accounts and ranges and no domain spread: use the newer program");
        }
    }
}
