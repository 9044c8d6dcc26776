namespace HibpIngest.Stores;

/// <summary>
/// The set of layouts that are written, the rows that each lacks, and the progress of backfills and rebuilds. The register follows this
/// set.
/// </summary>
public interface ILayouts
{
    Task<LayoutSet> GetLayoutsAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Adds the first layout unless there is one, and returns the effective set. If any mark was ever assigned, there may be accounts
    /// without a hash in the ranges: the ranges then start as off, unless <paramref name="isFromRegister"/>.
    /// </summary>
    /// <param name="isFromRegister">True if the layout comes from the register, so that the state of its ranges is right.</param>
    Task<LayoutSet> AddFirstLayoutAsync(StoreLayout layout, bool isFromRegister, CancellationToken cancellationToken);

    /// <summary>
    /// Adds a layout to the set: from then on a slice is done only if it was written to this layout too. Does nothing if the layout is in
    /// the set.
    /// </summary>
    /// <exception cref="Errors.NotPossibleException">Another layout has or had this number or name.</exception>
    Task<LayoutSet> AddLayoutAsync(StoreLayout layout, CancellationToken cancellationToken);

    /// <summary>Removes a layout from the set permanently. Does nothing if it is not in the set, or is the only one.</summary>
    Task<LayoutSet> DropLayoutAsync(int layout, CancellationToken cancellationToken);

    /// <summary>Returns all layouts by id, including dropped ones.</summary>
    Task<IReadOnlyList<StoreLayout>> ListLayoutsAsync(CancellationToken cancellationToken);

    /// <summary>
    /// Returns the number of rows that a layout lacks: those of slices done before it was added, less the rows recorded by
    /// <see cref="SetBackfilledAsync"/>. 0: it has every account that any other layout has. Loads that are being removed, or were replaced
    /// before they were done, don't count.
    /// </summary>
    Task<long> CountMissingAsync(int layout, CancellationToken cancellationToken);

    /// <summary>
    /// Records rows of a load that were backfilled into a layout: all rows, or those of all slices done before the layout was added.
    /// </summary>
    /// <param name="withRanges">Their hashes were written too.</param>
    /// <returns>False if nothing was recorded, because the layout's ranges are on or being backfilled and the hashes were not
    /// written.</returns>
    Task<bool> SetBackfilledAsync(int layout, LoadId load, long rows, bool withRanges, CancellationToken cancellationToken);

    /// <summary>
    /// Raises the state of a layout's ranges, and with it the version of the set. Does nothing if the state is already as high.
    /// </summary>
    Task<LayoutSet> RaiseRangesAsync(int layout, RangesState state, CancellationToken cancellationToken);

    /// <summary>Returns how far the account table was scanned to backfill a layout's ranges.</summary>
    /// <returns>Null if the backfill has not started.</returns>
    Task<string?> GetRangesFillAsync(int layout, CancellationToken cancellationToken);
    Task SetRangesFillAsync(int layout, string fill, CancellationToken cancellationToken);

    /// <summary>Returns the loads whose rows <see cref="CountMissingAsync"/> counts, oldest first.</summary>
    Task<IReadOnlyList<MissingRows>> ListMissingAsync(int layout, CancellationToken cancellationToken);

    /// <summary>
    /// Returns the first and last positions of a load's slices that were done before the layout was added, in order: the rows to write if
    /// not the whole load is missing.
    /// </summary>
    Task<IReadOnlyList<(long First, long Last)>> ListMissingSlicesAsync(int layout, LoadId load, CancellationToken cancellationToken);

    /// <summary>Returns the progress of a rebuild.</summary>
    /// <returns>Null if none was started, or it has ended.</returns>
    Task<string?> GetRebuildAsync(int layout, CancellationToken cancellationToken);
    Task SetRebuildAsync(int layout, string? rebuild, CancellationToken cancellationToken);
}

/// <summary>Rows of a load that a layout lacks.</summary>
/// <param name="Rows">At least 1.</param>
public readonly record struct MissingRows(LoadId Load, long Rows);
