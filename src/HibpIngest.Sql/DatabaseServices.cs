using HibpIngest.Errors;
using HibpIngest.Sql.Sqlite;
using HibpIngest.Sql.SqlServer;
using HibpIngest.Stores;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Sql;

/// <summary>What the database adds to a host's services, and the one place that tells which database is meant.</summary>
public static class DatabaseServices
{
    /// <summary>Adds the database, opened when it is first asked for, by each of its parts. Opening it calls nothing.</summary>
    /// <param name="services">A host's; it brings the clock and the logs.</param>
    /// <param name="database">As for <see cref="Open"/>.</param>
    public static IServiceCollection AddHibpDatabase(this IServiceCollection services, string database) => services
        .AddSingleton(provider => Open(
            database, provider.GetRequiredService<TimeProvider>(), provider.GetRequiredService<ILoggerFactory>()))
        .AddDatabasePorts();

    /// <summary>Adds what an <see cref="IBreachDatabase"/> is, by each of its parts.</summary>
    public static IServiceCollection AddDatabasePorts(this IServiceCollection services)
    {
        foreach (var port in typeof(IBreachDatabase).GetInterfaces().Where(port => port != typeof(IAsyncDisposable)))
            services.AddSingleton(port, provider => provider.GetRequiredService<IBreachDatabase>());
        return services;
    }

    /// <summary>
    /// Opens SQL Server or Azure SQL for a connection string that names a server, SQLite for anything else;
    /// calls nothing.
    /// </summary>
    /// <exception cref="BadInputException">The connection string is not one.</exception>
    public static IBreachDatabase Open(string database, TimeProvider time, ILoggerFactory logs) =>
        IsServer(database) ? SqlServerBreachDatabase.Open(database, time, logs) : SqliteBreachDatabase.Open(database, time);

    /// <summary>
    /// Whether it is the connection string of a server: key=value pairs, one of which names it, or a database
    /// on it.
    /// </summary>
    public static bool IsServer(string database) => database.Split(';').Any(pair =>
        pair.Split('=') is [var key, _, ..]
        && key.Trim().ToLowerInvariant() is "server" or "addr" or "address" or "network address" or "initial catalog" or "database");
}
