using HibpIngest.Errors;
using HibpIngest.Sql.Sqlite;
using HibpIngest.Sql.SqlServer;
using HibpIngest.Stores;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Hosting;

/// <summary>The one place that tells from <c>--database</c> which database is meant.</summary>
public static class DatabaseFactory
{
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
