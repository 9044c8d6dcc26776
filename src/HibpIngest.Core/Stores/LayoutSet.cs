using HibpIngest.Errors;

namespace HibpIngest.Stores;

/// <summary>The layouts that every slice is written to.</summary>
/// <param name="Version">Raised by every change to the set; 0: the set is empty.</param>
public sealed record LayoutSet(int Version, IReadOnlyList<StoreLayout> Layouts)
{
    /// <summary>The set of a store without layouts: accounts are written as in the first layout.</summary>
    public static LayoutSet None { get; } = new(0, []);

    /// <summary>Layouts that accounts are written to.</summary>
    public IReadOnlyList<StoreLayout> Written => Layouts.Count > 0 ? Layouts : [StoreLayout.First];

    /// <summary>Whether any layout also writes hashes.</summary>
    public bool WritesRanges => Layouts.Any(layout => layout.WritesRanges);

    /// <summary>Checks that this program knows every layout. A layout it can't write would have gaps for readers.</summary>
    /// <exception cref="StoreMismatchException">A newer program has extended the set.</exception>
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
