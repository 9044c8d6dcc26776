namespace HibpIngest.Stores;

/// <summary>
/// The clients that are called back, in table <c>hibpclients</c>: like keys they outlive the database. Errors as for
/// <see cref="IBreachDatabase"/>.
/// </summary>
public interface ICallbackClients
{
    const string Table = "hibpclients";

    /// <summary>Creates the table where it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Adds one; false where there is one of its number.</summary>
    Task<bool> AddAsync(CallbackClient client, CancellationToken cancellationToken);

    /// <summary>All clients, by name; none where there is no table yet.</summary>
    Task<IReadOnlyList<CallbackClient>> ListAsync(CancellationToken cancellationToken);

    /// <summary>Replaces one; false where it is of another version by now, or gone.</summary>
    Task<bool> ChangeAsync(CallbackClient client, CancellationToken cancellationToken);

    /// <summary>Takes one away; false where there is none.</summary>
    Task<bool> RemoveAsync(int number, CancellationToken cancellationToken);
}
