using HibpIngest.Storage.Sql.SqlServer;

namespace HibpIngest.SqlServer.Tests.Faults;

/// <summary>One database for all fault tests, each of which has its own load.</summary>
public sealed class FaultDatabase : IAsyncLifetime
{
    public string Name { get; } = TestServer.CreateDatabase();

    public string ConnectionString => TestServer.ConnectionTo(Name);

    public async Task InitializeAsync()
    {
        await using var database = SqlServerBreachDatabase.Open(ConnectionString, TimeProvider.System, NullLoggerFactory.Instance);
        await database.UpgradeAsync(CancellationToken.None);
    }

    public Task DisposeAsync() => TestServer.DropDatabaseAsync(Name);
}
