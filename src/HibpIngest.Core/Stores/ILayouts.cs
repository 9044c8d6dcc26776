namespace HibpIngest.Stores;

/// <summary>The set of layouts that is written, and how far the filling of one is. The register follows it.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface ILayouts
{
    Task<LayoutSet> GetLayoutsAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Adds the first layout unless there is one, and returns the set that counts. Where a mark was ever given,
    /// accounts may be there that no range has: it then begins as off, unless <paramref name="filled"/>.
    /// </summary>
    /// <param name="filled">Its state is what the register says of it, and true whatever marks there are.</param>
    Task<LayoutSet> AddFirstLayoutAsync(StoreLayout layout, bool filled, CancellationToken cancellationToken);

    /// <summary>
    /// Adds a layout to the set: from then on no slice is done that was not written in it. One that is there already
    /// stays as it is.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">Its number or name is another one's, or was.</exception>
    Task<LayoutSet> AddLayoutAsync(StoreLayout layout, CancellationToken cancellationToken);

    /// <summary>
    /// Takes a layout out of the set for good; nothing happens where it is not in it, or is the only one.
    /// </summary>
    Task<LayoutSet> DropLayoutAsync(int layout, CancellationToken cancellationToken);

    /// <summary>All of them, by id; those that were dropped too.</summary>
    Task<IReadOnlyList<StoreLayout>> ListLayoutsAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Rows that a layout lacks: those of slices that were done before it was added, less what
    /// <see cref="SetReplayedAsync"/> says of their load. 0: it has every account that any other has. Loads that are
    /// being removed, or were replaced before they were done, don't count.
    /// </summary>
    Task<long> CountMissingAsync(int layout, CancellationToken cancellationToken);

    /// <summary>
    /// Records that so many rows of a load have been written in a layout after its slices: all of them, or those of all slices
    /// that were done before the layout was added.
    /// </summary>
    /// <param name="withRanges">Their hashes were written too.</param>
    /// <returns>False: nothing was recorded, as the layout's ranges are on or being filled and the hashes were not written.</returns>
    Task<bool> SetReplayedAsync(int layout, long load, long rows, bool withRanges, CancellationToken cancellationToken);

    /// <summary>Raises a layout's state, and with it the set's version; nothing happens where it is as high.</summary>
    Task<LayoutSet> RaiseRangesAsync(int layout, RangesState state, CancellationToken cancellationToken);

    /// <summary>How far the account table has been walked to fill a layout's ranges; null: it has not.</summary>
    Task<string?> GetFillAsync(int layout, CancellationToken cancellationToken);

    /// <summary>Records that, while it is being filled.</summary>
    Task SetFillAsync(int layout, string fill, CancellationToken cancellationToken);
}
