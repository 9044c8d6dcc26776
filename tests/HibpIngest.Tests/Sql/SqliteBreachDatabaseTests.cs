using HibpIngest.Ports;
using HibpIngest.Sql.Sqlite;
using Microsoft.Data.Sqlite;

namespace HibpIngest.Tests.Sql;

public sealed partial class SqliteBreachDatabaseTests : BreachDatabaseContract
{
    private readonly string _folder = Directory.CreateTempSubdirectory("hibp-sqlite-").FullName;

    private string DatabaseFile => Path.Combine(_folder, "new", "hibp.db");

    protected override IBreachDatabase Open(TimeProvider time) => SqliteBreachDatabase.Open(DatabaseFile, time);

    protected override Task FailInsertsAsync(string table) =>
        ExecuteAsync($"CREATE TRIGGER fail_{table} BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'a fault of the test'); END");

    protected override Task MendInsertsAsync(string table) => ExecuteAsync($"DROP TRIGGER fail_{table}");

    protected override Task SetSchemaVersionAsync(int version) => ExecuteAsync($"PRAGMA user_version = {version}");

    protected override async Task<long> CountAsync(string table) => (long)(await ScalarAsync($"SELECT COUNT(*) FROM {table}"))!;

    public override async Task DisposeAsync()
    {
        await base.DisposeAsync();
        Directory.Delete(_folder, recursive: true);
    }

    private Task ExecuteAsync(string sql) => ScalarAsync(sql);

    /// <summary>By another driver than the one under test.</summary>
    private async Task<object?> ScalarAsync(string sql)
    {
        await using var connection = new SqliteConnection($"Data Source={DatabaseFile};Pooling=False");
        await connection.OpenAsync();
        await using var command = connection.CreateCommand();
        command.CommandText = sql;
        return await command.ExecuteScalarAsync();
    }
}
