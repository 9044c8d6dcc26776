namespace HibpIngest.Stores;

/// <summary>The layouts for readers, without the database.</summary>
public interface ILayoutRegister : IReadLayout
{
    /// <summary>Every layout, by id.</summary>
    Task<IReadOnlyList<StoreLayout>> ListLayoutsAsync(CancellationToken cancellationToken);

    /// <summary>Adds a layout, or raises its state; never lowers it.</summary>
    /// <exception cref="Errors.StoreMismatchException">One of the same id is another.</exception>
    Task PutLayoutAsync(StoreLayout layout, CancellationToken cancellationToken);

    /// <summary>Has a layout read from now on, unless one is.</summary>
    Task AddReadLayoutAsync(int layout, CancellationToken cancellationToken);
}
