namespace HibpIngest.Stores;

/// <summary>The rows that a layout lacks, and the progress of the rebuild that writes them.</summary>
public interface IRebuilds
{
    /// <summary>Returns the loads whose rows <see cref="ILayouts.CountMissingAsync"/> counts, oldest first.</summary>
    Task<IReadOnlyList<MissingRows>> ListMissingAsync(int layout, CancellationToken cancellationToken);

    /// <summary>
    /// Returns the first and last positions of a load's slices that were done before the layout was added, in order: the rows to write if
    /// not the whole load is missing.
    /// </summary>
    Task<IReadOnlyList<(long First, long Last)>> ListMissingSlicesAsync(int layout, long load, CancellationToken cancellationToken);

    /// <summary>Returns the progress of a rebuild.</summary>
    /// <returns>Null if none was started, or it has ended.</returns>
    Task<string?> GetRebuildAsync(int layout, CancellationToken cancellationToken);
    Task SetRebuildAsync(int layout, string? rebuild, CancellationToken cancellationToken);
}

/// <summary>Rows of a load that a layout lacks.</summary>
/// <param name="Rows">At least 1.</param>
public readonly record struct MissingRows(long Load, long Rows);
