namespace HibpIngest.Stores;

/// <summary>The set of layouts that is written, and how far the filling of one is. The register follows it.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface ILayouts
{
    /// <summary>The set, with its version.</summary>
    Task<LayoutSet> GetLayoutsAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Adds the first layout unless there is one, and returns the set that counts. Where a mark was ever given,
    /// accounts may be there that no range has: it then begins as off, unless <paramref name="filled"/>.
    /// </summary>
    /// <param name="layout">As it is to begin.</param>
    /// <param name="filled">Its state is what the register says of it, and true whatever marks there are.</param>
    /// <param name="cancellationToken">Rolls back.</param>
    Task<LayoutSet> AddFirstLayoutAsync(StoreLayout layout, bool filled, CancellationToken cancellationToken);

    /// <summary>Raises a layout's state, and with it the set's version; nothing happens where it is as high.</summary>
    Task<LayoutSet> RaiseRangesAsync(int layout, RangesState state, CancellationToken cancellationToken);

    /// <summary>How far the account table has been walked to fill a layout's ranges; null: it has not.</summary>
    Task<string?> GetFillAsync(int layout, CancellationToken cancellationToken);

    /// <summary>Records that, while it is being filled.</summary>
    Task SetFillAsync(int layout, string fill, CancellationToken cancellationToken);
}
