using HibpIngest.Storage.Sql.SqlServer;
using HibpIngest.Storage.Sql.Sqlite;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Storage.Sql;

/// <summary>Registers the database, and determines the provider by the connection string.</summary>
public static class DatabaseServices
{
    /// <summary>Adds the database and its ports as services. It is opened on first use, which makes no call.</summary>
    /// <param name="services">Must provide the clock and the loggers.</param>
    /// <param name="database">As for <see cref="Open"/>.</param>
    public static IServiceCollection AddHibpDatabase(this IServiceCollection services, string database) => services
        .AddSingleton(provider => Open(
            database, provider.GetRequiredService<TimeProvider>(), provider.GetRequiredService<ILoggerFactory>()))
        .AddDatabasePorts();

    /// <summary>Adds each interface of <see cref="IBreachDatabase"/> as a service.</summary>
    public static IServiceCollection AddDatabasePorts(this IServiceCollection services)
    {
        foreach (var port in typeof(IBreachDatabase).GetInterfaces().Where(port => port != typeof(IAsyncDisposable)))
            services.AddSingleton(port, provider => provider.GetRequiredService<IBreachDatabase>());
        return services;
    }

    /// <summary>Opens SQL Server or Azure SQL if the connection string names a server, else SQLite. Makes no call.</summary>
    /// <exception cref="BadInputException">The connection string is malformed.</exception>
    public static IBreachDatabase Open(string database, TimeProvider time, ILoggerFactory logs) =>
        IsServer(database) ? SqlServerBreachDatabase.Open(database, time, logs) : SqliteBreachDatabase.Open(database, time);

    /// <summary>Returns whether it is a server's connection string: key=value pairs that name a server or a database on it.</summary>
    public static bool IsServer(string database) => database.Split(';').Any(pair =>
        pair.Split('=') is [var key, _, ..]
        && key.Trim().ToLowerInvariant() is "server" or "addr" or "address" or "network address" or "initial catalog" or "database");
}
