using Microsoft.Data.Sqlite;

namespace HibpIngest.Tests.Sql;

public sealed partial class SqliteBreachDatabaseTests : BreachDatabaseContract
{
    private readonly string _folder = Directory.CreateTempSubdirectory("hibp-sqlite-").FullName;

    protected override IBreachDatabase Open(string database, TimeProvider time) => SqliteBreachDatabase.Open(FileOf(database), time);

    private string FileOf(string database) => Path.Combine(_folder, $"{database}.db");

    protected override Task FailInsertsAsync(string table) =>
        ExecuteAsync($"CREATE TRIGGER fail_{table} BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'a fault of the test'); END");

    protected override Task RepairInsertsAsync(string table) => ExecuteAsync($"DROP TRIGGER fail_{table}");

    protected override Task SetSchemaVersionAsync(int version) => ExecuteAsync($"PRAGMA user_version = {version}");

    protected override async Task<long> CountAsync(string table) => (long)(await ScalarAsync($"SELECT COUNT(*) FROM {table}"))!;

    public override async Task DisposeAsync()
    {
        await base.DisposeAsync();
        Directory.Delete(_folder, recursive: true);
    }

    private Task ExecuteAsync(string sql, string database = MainDatabase) => ScalarAsync(sql, database);

    private async Task<object?> ScalarAsync(string sql, string database = MainDatabase)
    {
        await using var connection = Connect(database);
        await connection.OpenAsync();
        await using var command = connection.CreateCommand();
        command.CommandText = sql;
        return await command.ExecuteScalarAsync();
    }

    /// <summary>Connects with another driver than the one under test.</summary>
    private SqliteConnection Connect(string database, int timeoutSeconds = 30) =>
        new($"Data Source={FileOf(database)};Pooling=False;Default Timeout={timeoutSeconds}");
}
