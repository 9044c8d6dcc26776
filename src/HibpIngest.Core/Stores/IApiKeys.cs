namespace HibpIngest.Stores;

/// <summary>Who may ask, in table <c>hibpkeys</c>: the keys' hashes, never a key. Errors as for <see cref="IBreachDatabase"/>.</summary>
public interface IApiKeys
{
    /// <summary>Creates the table where it is missing.</summary>
    Task CreateAsync(CancellationToken cancellationToken);

    /// <summary>The key of this hash; null where there is none, or no table. One point read.</summary>
    Task<ApiKey?> FindAsync(string hash, CancellationToken cancellationToken);

    /// <summary>Adds a key; false where there is one of that hash.</summary>
    Task<bool> AddAsync(ApiKey key, CancellationToken cancellationToken);

    /// <summary>All keys, by name.</summary>
    Task<IReadOnlyList<ApiKey>> ListAsync(CancellationToken cancellationToken);

    /// <summary>Takes the key of this hash away; false where there is none.</summary>
    Task<bool> RemoveAsync(string hash, CancellationToken cancellationToken);
}
