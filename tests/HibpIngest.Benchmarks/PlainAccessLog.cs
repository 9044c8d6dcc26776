using System.Data.Common;
using Azure.Storage.Queues;
using Microsoft.Data.SqlClient;
using Microsoft.Data.Sqlite;

namespace HibpIngest.Benchmarks;

/// <summary>The fields that the published options log of a request.</summary>
internal readonly record struct PlainRecord(Guid Id, long Time, string Route, int Status);

/// <summary>The published ways of logging a request, in their simplest form; see <see cref="OpenAsync"/> for their names.</summary>
internal abstract class PlainAccessLog : IAsyncDisposable
{
    private const string Insert = "INSERT INTO requests (id, time, route, status) VALUES (@id, @time, @route, @status)";

    /// <summary>Completes when the response may be sent.</summary>
    public abstract Task AppendAsync(PlainRecord record);

    public virtual ValueTask DisposeAsync() => ValueTask.CompletedTask;

    /// <summary>Opens an empty log.</summary>
    /// <param name="option">none; sql and task: an insert per request into SQLite, awaited or in a background task;
    /// sqlserver and sqlserver-task: the same on SQL Server; queue: a message per request, awaited.</param>
    /// <param name="store">A file, a connection string, or <see cref="QueueOf"/>.</param>
    public static async Task<PlainAccessLog> OpenAsync(string option, string store)
    {
        switch (option)
        {
            case "none":
                return new NoLog();
            case "sql" or "task":
                var sqlite = new SqliteConnection($"Data Source={store}");
                await sqlite.OpenAsync();
                await ExecuteAsync(sqlite, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
                await ExecuteAsync(sqlite, "CREATE TABLE IF NOT EXISTS requests (id BLOB, time INTEGER, route TEXT, status INTEGER)");
                return option == "sql" ? new SqliteLog(sqlite) : new TaskLog(new SqliteLog(sqlite));
            case "sqlserver" or "sqlserver-task":
                await using (var server = new SqlConnection(store))
                {
                    await server.OpenAsync();
                    await ExecuteAsync(
                        server, "DROP TABLE IF EXISTS requests; "
                            + "CREATE TABLE requests (id uniqueidentifier, time bigint, route nvarchar(100), status int)");
                }
                return option == "sqlserver" ? new SqlServerLog(store) : new TaskLog(new SqlServerLog(store));
            case "queue":
                var queue = QueueAt(store);
                await queue.CreateIfNotExistsAsync();
                return new QueueLog(queue);
            default:
                throw new ArgumentOutOfRangeException(nameof(option), option, "no such option");
        }
    }

    /// <summary>Names a queue by account and name: each server has its own, because messages of the last one may still arrive.</summary>
    public static string QueueOf(string connection, string name) => $"{name}|{connection}";

    /// <summary>Returns the number of records, by distinct id except in a queue. Deletes the queue.</summary>
    public static async Task<long> CountAsync(string option, string store)
    {
        const string Count = "SELECT COUNT(DISTINCT id) FROM requests";
        switch (option)
        {
            case "sql" or "task":
                await using (var sqlite = new SqliteConnection($"Data Source={store}"))
                    return await CountAsync(sqlite, Count);
            case "sqlserver" or "sqlserver-task":
                await using (var server = new SqlConnection(store))
                    return await CountAsync(server, Count);
            default:
                return await CountMessagesAsync(QueueAt(store));
        }
    }

    private static QueueClient QueueAt(string store)
    {
        var parts = store.Split('|', 2);
        return new QueueClient(parts[1], parts[0]);
    }

    // By the queue's own count: receiving tens of thousands takes the emulator half an hour, because it scans all of them each time.
    private static async Task<long> CountMessagesAsync(QueueClient queue)
    {
        var count = (await queue.GetPropertiesAsync()).Value.ApproximateMessagesCount;
        await queue.DeleteAsync();
        return count;
    }

    private static async Task<long> CountAsync(DbConnection connection, string count)
    {
        await connection.OpenAsync();
        await using var command = connection.CreateCommand();
        command.CommandText = count;
        return Convert.ToInt64(await command.ExecuteScalarAsync());
    }

    private static async Task ExecuteAsync(DbConnection connection, string text)
    {
        await using var command = connection.CreateCommand();
        command.CommandText = text;
        await command.ExecuteNonQueryAsync();
    }

    /// <summary>The ceiling.</summary>
    private sealed class NoLog : PlainAccessLog
    {
        public override Task AppendAsync(PlainRecord record) => Task.CompletedTask;
    }

    /// <summary>Option 1. One connection, because a file has one writer at a time.</summary>
    private sealed class SqliteLog : PlainAccessLog
    {
        private readonly SqliteConnection _connection;
        private readonly SqliteCommand _insert;
        private readonly Lock _gate = new();

        public SqliteLog(SqliteConnection connection)
        {
            _connection = connection;
            _insert = connection.CreateCommand();
            _insert.CommandText = Insert;
            foreach (var name in (string[])["@id", "@time", "@route", "@status"])
                _insert.Parameters.Add(new SqliteParameter { ParameterName = name });
        }

        public override Task AppendAsync(PlainRecord record)
        {
            lock (_gate)
            {
                (_insert.Parameters[0].Value, _insert.Parameters[1].Value) = (record.Id.ToByteArray(), record.Time);
                (_insert.Parameters[2].Value, _insert.Parameters[3].Value) = (record.Route, record.Status);
                _insert.ExecuteNonQuery();
            }
            return Task.CompletedTask;
        }

        public override async ValueTask DisposeAsync()
        {
            await _insert.DisposeAsync();
            await _connection.DisposeAsync();
        }
    }

    /// <summary>Option 1 on a server: a pooled connection for each request.</summary>
    private sealed class SqlServerLog(string store) : PlainAccessLog
    {
        public override async Task AppendAsync(PlainRecord record)
        {
            await using var connection = new SqlConnection(store);
            await connection.OpenAsync();
            await using var insert = connection.CreateCommand();
            insert.CommandText = Insert;
            insert.Parameters.AddWithValue("@id", record.Id);
            insert.Parameters.AddWithValue("@time", record.Time);
            insert.Parameters.AddWithValue("@route", record.Route);
            insert.Parameters.AddWithValue("@status", record.Status);
            await insert.ExecuteNonQueryAsync();
        }
    }

    /// <summary>Option 2: nothing waits for the insert, and it is lost if the process ends.</summary>
    private sealed class TaskLog(PlainAccessLog inner) : PlainAccessLog
    {
        public override Task AppendAsync(PlainRecord record)
        {
            _ = Task.Run(() => inner.AppendAsync(record));
            return Task.CompletedTask;
        }
    }

    /// <summary>Option 3.</summary>
    private sealed class QueueLog(QueueClient queue) : PlainAccessLog
    {
        public override Task AppendAsync(PlainRecord record) => queue.SendMessageAsync(
            $"{record.Id:N} {record.Time} {record.Route} {record.Status}");
    }
}
