namespace HibpIngest.Stores;

/// <summary>The layouts for readers, without the database.</summary>
public interface ILayoutRegister : IReadLayout
{
    /// <summary>Every layout, by id; those that were dropped too.</summary>
    Task<IReadOnlyList<StoreLayout>> ListLayoutsAsync(CancellationToken cancellationToken);

    /// <summary>Adds a layout, or raises its state (dropped is the highest); never lowers it.</summary>
    /// <exception cref="Errors.StoreMismatchException">One of the same id is another.</exception>
    Task PutLayoutAsync(StoreLayout layout, CancellationToken cancellationToken);

    /// <summary>Has a layout read from now on, unless one is.</summary>
    Task AddReadLayoutAsync(int layout, CancellationToken cancellationToken);

    /// <summary>Has another layout read from now on.</summary>
    /// <returns>False: somebody else was first, and neither of the two may be read.</returns>
    Task<bool> TrySwitchAsync(int from, int to, CancellationToken cancellationToken);
}
