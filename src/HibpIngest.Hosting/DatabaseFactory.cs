using HibpIngest.Errors;
using HibpIngest.Ports;
using HibpIngest.Sql.Sqlite;

namespace HibpIngest.Hosting;

/// <summary>The one place that tells from <c>--database</c> which database is meant.</summary>
public static class DatabaseFactory
{
    /// <exception cref="BadInputException">It is meant for a server that this program does not speak to.</exception>
    public static IBreachDatabase Open(string database, TimeProvider time) =>
        IsServer(database)
            ? throw new BadInputException("--database names a database server, and this program works with a SQLite file: give a file")
            : SqliteBreachDatabase.Open(database, time);

    /// <summary>Whether it is the connection string of a server: key=value pairs, one of which names it.</summary>
    private static bool IsServer(string database) => database.Split(';').Any(pair =>
        pair.Split('=') is [var key, _, ..] && key.Trim().ToLowerInvariant() is "server" or "addr" or "address" or "network address" or "initial catalog");
}
