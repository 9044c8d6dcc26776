namespace HibpIngest.SqlServer.Tests;

public sealed class SqlServerAcceptanceTests : AcceptanceContract, IAsyncLifetime
{
    private readonly string _database = TestServer.CreateDatabase();

    public Task InitializeAsync() => Task.CompletedTask;

    public Task DisposeAsync() => TestServer.DropDatabaseAsync(_database);

    protected override string Database(string folder) => TestServer.ConnectionTo(_database);
}
