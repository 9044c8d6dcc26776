namespace HibpIngest.Stores;

/// <summary>The API keys: their hashes, never a key. Errors are those of <see cref="IBreachDatabase"/>.</summary>
public interface IApiKeys
{
    const string Table = "hibpkeys";

    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>Returns the key with this hash. One point read.</summary>
    Task<ApiKey?> FindAsync(string hash, CancellationToken cancellationToken);

    /// <returns>False if there is a key with that hash.</returns>
    Task<bool> AddAsync(ApiKey key, CancellationToken cancellationToken);

    /// <summary>Returns all keys by name.</summary>
    Task<IReadOnlyList<ApiKey>> ListAsync(CancellationToken cancellationToken);

    /// <summary>Adds a domain to a key, which gets <see cref="KeyScopes.Domains"/>, or removes it. Idempotent.</summary>
    /// <returns>False if there is no such key.</returns>
    Task<bool> SetDomainAsync(string hash, string domain, bool isProven, CancellationToken cancellationToken);

    /// <returns>False if there is none.</returns>
    Task<bool> RemoveAsync(string hash, CancellationToken cancellationToken);
}
