namespace HibpIngest.Stores;

/// <summary>The layouts for readers, without access to the database.</summary>
public interface ILayoutRegister : IReadLayout
{
    /// <summary>Returns all layouts by id, including dropped ones.</summary>
    Task<IReadOnlyList<StoreLayout>> ListLayoutsAsync(CancellationToken cancellationToken);

    /// <summary>Adds a layout, or raises its state (dropped is the highest); never lowers it.</summary>
    /// <exception cref="Errors.StoreMismatchException">There is a different layout with this id.</exception>
    Task PutLayoutAsync(StoreLayout layout, CancellationToken cancellationToken);

    /// <summary>Sets the layout that is read, unless one is set.</summary>
    Task AddReadLayoutAsync(int layout, CancellationToken cancellationToken);

    /// <returns>False if another switch came first: possibly neither of the two layouts is read.</returns>
    Task<bool> TrySwitchAsync(int from, int to, CancellationToken cancellationToken);
}

/// <summary>The layout that is read, without access to the database.</summary>
public interface IReadLayout
{
    /// <summary>
    /// Time after a switch until no reader uses the previous layout: readers revalidate every 10 seconds (20 without a background refresh),
    /// with a timeout of 5 seconds; plus the same again for clock differences.
    /// </summary>
    static readonly TimeSpan SeenWithin = TimeSpan.FromMinutes(1);

    /// <returns>Null if the store has none yet.</returns>
    Task<StoreLayout?> GetReadLayoutAsync(CancellationToken cancellationToken);
}
