using HibpIngest.SqlServer.Tests.Faults;
using Microsoft.Data.SqlClient;

namespace HibpIngest.SqlServer.Tests;

/// <summary>The server that HIBP_TEST_SQLSERVER names, and databases on it that live as long as a test.</summary>
internal static class TestServer
{
    private static readonly string Connection = Environment.GetEnvironmentVariable("HIBP_TEST_SQLSERVER") is { Length: > 0 } connection
        ? connection
        : throw new InvalidOperationException(
            "HIBP_TEST_SQLSERVER is expected to hold the connection string of a server on which databases may be created and dropped");

    /// <summary>The connection string of a database on it.</summary>
    public static string ConnectionTo(string database) =>
        new SqlConnectionStringBuilder(Connection) { InitialCatalog = database }.ConnectionString;

    /// <summary>A proxy before it.</summary>
    public static TdsProxy Proxy()
    {
        var server = new SqlConnectionStringBuilder(Connection).DataSource.Split(',');
        return new TdsProxy(
            server[0].Replace("tcp:", "", StringComparison.OrdinalIgnoreCase), server.Length > 1 ? int.Parse(server[1]) : 1433);
    }

    /// <summary>Makes an empty database; returns its name.</summary>
    public static string CreateDatabase()
    {
        var name = $"hibp_test_{Guid.NewGuid():N}";
        Execute("master", $"CREATE DATABASE {name}");
        return name;
    }

    public static async Task DropDatabaseAsync(string name)
    {
        SqlConnection.ClearAllPools();
        if (!IsBabelfish)
            Execute("master", $"ALTER DATABASE {name} SET SINGLE_USER WITH ROLLBACK IMMEDIATE");
        for (var tries = 1; ; tries++)
        {
            try
            {
                Execute("master", $"DROP DATABASE {name}");
                return;
            }
            catch (SqlException) when (IsBabelfish && tries < 100)
            {
                // It takes a while to notice that the connections are closed, and can't be told to close them.
                await Task.Delay(TimeSpan.FromMilliseconds(100));
            }
        }
    }

    /// <summary>A server that speaks T-SQL and is another's: some of what SQL Server does can't be asked of it.</summary>
    public static bool IsBabelfish { get; } =
        Scalar("master", "SELECT CAST(SERVERPROPERTY('BabelfishVersion') AS nvarchar(128))") is string;

    public static void Execute(string database, string sql) => Scalar(database, sql);

    public static object? Scalar(string database, string sql)
    {
        using var connection = new SqlConnection(ConnectionTo(database));
        connection.Open();
        using var command = new SqlCommand(sql, connection);
        return command.ExecuteScalar();
    }
}
