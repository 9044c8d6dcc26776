using HibpIngest.SqlServer.Tests.Faults;
using Microsoft.Data.SqlClient;

namespace HibpIngest.SqlServer.Tests;

/// <summary>Creates databases on the server that HIBP_TEST_SQLSERVER names, each for one test.</summary>
internal static class TestServer
{
    private static readonly string Connection = Environment.GetEnvironmentVariable("HIBP_TEST_SQLSERVER") is { Length: > 0 } connection
        ? connection
        : throw new InvalidOperationException(
            "HIBP_TEST_SQLSERVER is expected to hold the connection string of a server on which databases may be created and dropped");

    public static string ConnectionTo(string database) =>
        new SqlConnectionStringBuilder(Connection) { InitialCatalog = database }.ConnectionString;

    public static TdsProxy Proxy()
    {
        var server = new SqlConnectionStringBuilder(Connection).DataSource.Split(',');
        return new TdsProxy(
            server[0].Replace("tcp:", "", StringComparison.OrdinalIgnoreCase), server.Length > 1 ? int.Parse(server[1]) : 1433);
    }

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
                // The server takes a while to notice that the connections are closed, and can't be made to close them.
                await Task.Delay(TimeSpan.FromMilliseconds(100));
            }
        }
    }

    /// <summary>True if the server is Babelfish, which speaks T-SQL without some of SQL Server's behaviour.</summary>
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
