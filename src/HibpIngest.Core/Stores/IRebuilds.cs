namespace HibpIngest.Stores;

/// <summary>What a layout lacks, and how far the replay of it is.</summary>
/// <remarks>The rules of <see cref="IBreachDatabase"/> hold.</remarks>
public interface IRebuilds
{
    /// <summary>The loads that <see cref="ILayouts.CountMissingAsync"/> counts rows of, oldest first.</summary>
    Task<IReadOnlyList<MissingRows>> ListMissingAsync(int layout, CancellationToken cancellationToken);

    /// <summary>
    /// First and last positions of a load's slices that were done before the layout was added, in order: what is to be
    /// written there where not the whole load is.
    /// </summary>
    Task<IReadOnlyList<(long First, long Last)>> ListMissingSlicesAsync(int layout, long load, CancellationToken cancellationToken);

    /// <summary>How far a replay is; null: none was begun, or it has ended.</summary>
    Task<string?> GetRebuildAsync(int layout, CancellationToken cancellationToken);

    Task SetRebuildAsync(int layout, string? rebuild, CancellationToken cancellationToken);
}

/// <summary>What a layout lacks of a load.</summary>
/// <param name="Rows">How many; more than none.</param>
public readonly record struct MissingRows(long Load, long Rows);
