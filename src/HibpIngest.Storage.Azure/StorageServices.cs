using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Storage.Azure;

public static class StorageServices
{
    private const string Journal = "journal";

    /// <summary>Adds the storage account and its stores. It is opened on first use, which calls no service.</summary>
    /// <param name="services">Must provide an <see cref="ILoggerFactory"/>.</param>
    /// <param name="further">Connections of the store's other storage accounts, in order.</param>
    /// <param name="journal">Connection of the journal's storage account; null for the first account.</param>
    /// <param name="options">Retries and timeouts; null for the defaults.</param>
    public static IServiceCollection AddHibpStorage(
        this IServiceCollection services, string connection, IReadOnlyList<string> further, string? journal = null,
        StorageOptions? options = null)
    {
        services.AddSingleton(provider => StorageAccount.Open(connection, LogsOf(provider), options, further));
        foreach (var port in typeof(StorageAccount).GetProperties())
        {
            if (port.PropertyType.IsInterface && port.PropertyType != typeof(IJournalBlobs))
                services.AddSingleton(port.PropertyType, provider => port.GetValue(provider.GetRequiredService<StorageAccount>())!);
        }
        services.AddRegisterPorts();
        if (journal is null)
        {
            services.AddSingleton(provider => provider.GetRequiredService<StorageAccount>().JournalBlobs);
        }
        else
        {
            services.AddKeyedSingleton(Journal, (provider, _) => StorageAccount.Open(journal, LogsOf(provider)));
            services.AddSingleton(provider => provider.GetRequiredKeyedService<StorageAccount>(Journal).JournalBlobs);
        }
        return services;
    }

    // IHeartbeats isn't registered here: heartbeats have connections of their own.
    public static IServiceCollection AddRegisterPorts(this IServiceCollection services)
    {
        foreach (var port in typeof(IStoreRegister).GetInterfaces().Where(port => port != typeof(IHeartbeats)))
            services.AddSingleton(port, provider => provider.GetRequiredService<IStoreRegister>());
        return services;
    }

    private static ILoggerFactory LogsOf(IServiceProvider provider) => provider.GetRequiredService<ILoggerFactory>();
}
