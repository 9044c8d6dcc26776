using HibpIngest.Api;
using HibpIngest.Storage.Azure.Connections;

namespace HibpIngest.Hosting.Web;

public static class ApiStorage
{
    /// <summary>
    /// Retries and timeouts for storage on the request path: an unavailable store is reported within seconds. An append has a longer
    /// timeout, because giving one up would refuse every request, not only those that wait for it.
    /// </summary>
    public static readonly StorageOptions Retries = new()
    {
        MaxRetries = 2,
        RetryDelay = TimeSpan.FromMilliseconds(100),
        MaxRetryDelay = TimeSpan.FromSeconds(1),
        NetworkTimeout = TimeSpan.FromSeconds(10),
        AppendTimeout = TimeSpan.FromSeconds(30),
    };

    // No retries: the primary account is read instead.
    private static readonly StorageOptions NearestRetries = new() { MaxRetries = 0, NetworkTimeout = TimeSpan.FromSeconds(10) };

    /// <summary>Adds the storage ports of the API, and the account that passwords are read from first. Calls nothing.</summary>
    /// <param name="nearest">
    /// Connection string of the account to read first (HIBP_PASSWORDS_NEAREST). Null or empty if there is none.
    /// </param>
    /// <param name="options">Retries and timeouts. Null for <see cref="Retries"/>.</param>
    public static IServiceCollection AddHibpApiStorage(
        this IServiceCollection services, string connection, IReadOnlyList<string> further, string? nearest, StorageOptions? options = null)
    {
        services.AddHibpStorage(connection, further, options: options ?? Retries);
        if (string.IsNullOrWhiteSpace(nearest))
            return services;
        services.AddKeyedSingleton(ApiServices.NearestPasswords, (provider, _) =>
        {
            StorageAccount.Check(nearest, "HIBP_PASSWORDS_NEAREST");
            return StorageAccount.Open(nearest, provider.GetRequiredService<ILoggerFactory>(), NearestRetries);
        });
        return services.AddKeyedSingleton(ApiServices.NearestPasswords, (provider, _) =>
        {
            var account = provider.GetRequiredKeyedService<StorageAccount>(ApiServices.NearestPasswords);
            return new PasswordStores(account.PasswordBlobs, account.PasswordTables);
        });
    }
}
