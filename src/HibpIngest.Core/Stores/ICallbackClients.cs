namespace HibpIngest.Stores;

/// <summary>
/// The callback clients in table <c>hibpclients</c>: like API keys, they outlive the database. Errors are those of
/// <see cref="IBreachDatabase"/>.
/// </summary>
public interface ICallbackClients
{
    const string Table = "hibpclients";
    Task CreateAsync(CancellationToken cancellationToken);

    /// <returns>False if there is a client with that number.</returns>
    Task<bool> AddAsync(CallbackClient client, CancellationToken cancellationToken);

    /// <summary>Returns all clients by name; none if the table does not exist.</summary>
    Task<IReadOnlyList<CallbackClient>> ListAsync(CancellationToken cancellationToken);

    /// <returns>False if the stored version differs, or the client was removed.</returns>
    Task<bool> ChangeAsync(CallbackClient client, CancellationToken cancellationToken);

    /// <returns>False if there is none.</returns>
    Task<bool> RemoveAsync(int number, CancellationToken cancellationToken);
}
