using HibpIngest.Storage.Sql.SqlServer;

namespace HibpIngest.SqlServer.Tests;

public sealed partial class SqlServerBreachDatabaseTests : BreachDatabaseContract
{
    private readonly Dictionary<string, string> _databases = [];

    protected override IBreachDatabase Open(string database, TimeProvider time) =>
        SqlServerBreachDatabase.Open(ConnectionTo(database), time, NullLoggerFactory.Instance);

    // Inserts fail by a constraint, because SqlBulkCopy fires no triggers. The tables are empty when the contract calls this.
    protected override Task FailInsertsAsync(string table) =>
        ExecuteAsync($"ALTER TABLE dbo.{table} ADD CONSTRAINT fail_{table} CHECK (1 = 0)");

    protected override Task RepairInsertsAsync(string table) => ExecuteAsync($"ALTER TABLE dbo.{table} DROP CONSTRAINT fail_{table}");

    protected override Task SetSchemaVersionAsync(int version) =>
        ExecuteAsync($"INSERT INTO dbo.hibp_schema (version, applied_at) VALUES ({version}, SYSUTCDATETIME())");

    protected override Task<long> CountAsync(string table) =>
        Task.FromResult(Convert.ToInt64(TestServer.Scalar(NameOf(MainDatabase), $"SELECT COUNT_BIG(*) FROM dbo.{table}")));

    public override async Task DisposeAsync()
    {
        await base.DisposeAsync();
        foreach (var name in _databases.Values)
            await TestServer.DropDatabaseAsync(name);
    }

    private string ConnectionTo(string database) => TestServer.ConnectionTo(NameOf(database));

    private string NameOf(string database)
    {
        if (!_databases.TryGetValue(database, out var name))
            _databases.Add(database, name = TestServer.CreateDatabase());
        return name;
    }

    private Task ExecuteAsync(string sql)
    {
        TestServer.Execute(NameOf(MainDatabase), sql);
        return Task.CompletedTask;
    }
}
