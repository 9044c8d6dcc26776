using System.Data;
using HibpIngest.Storage.Sql.SqlServer;
using Microsoft.Data.SqlClient;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures the copy stage on a SQL Server: our batches (rows, checkpoint and slices in one transaction), compared
/// with bare SqlBulkCopy from a ready reader, and with DataTables. All three copy the same rows into the same table
/// with its clustered key, emptied before each run.
/// </summary>
internal sealed class SqlServerBenchmark(IReadOnlyList<AccountBatch> batches, string connectionString)
{
    private static readonly string[] Columns = ["load_id", "position", "alias", "domain"];

    private readonly int _rows = batches.Sum(batch => batch.Count);

    public async Task MeasureAsync(Pairs pairs)
    {
        var ready = Ready();
        await pairs.MeasureAsync("copy", "row", () => CopyReadyAsync(ready), CopyAsync);
        await pairs.MeasureAsync("DataTable", "row", () => CopyReadyAsync(ready), CopyTablesAsync);
    }

    /// <summary>Creates a database for the benchmark, and drops it at the end.</summary>
    public static async Task WithDatabaseAsync(string server, Func<string, Task> measure)
    {
        var name = $"hibp_bench_{Guid.NewGuid():N}";
        await ExecuteAsync(server, $"CREATE DATABASE {name}");
        try
        {
            var connection = new SqlConnectionStringBuilder(server) { InitialCatalog = name }.ConnectionString;
            await using (var database = SqlServerBreachDatabase.Open(connection, TimeProvider.System, NullLoggerFactory.Instance))
                await database.UpgradeAsync(CancellationToken.None);
            await measure(connection);
        }
        finally
        {
            SqlConnection.ClearAllPools();
            await ExecuteAsync(server, $"DROP DATABASE {name}");
        }
    }

    /// <summary>Joins the rows of each range with the subscribers in a plain statement, and only counts the matches.</summary>
    public static async Task<TimeSpan> JoinAsync(string connection, int rows, int range)
    {
        var began = Stopwatch.GetTimestamp();
        for (var after = 0L; after < rows; after += range)
        {
            await ExecuteAsync(connection, $"""
                SELECT COUNT_BIG(*) FROM (
                    SELECT a.id, d.domain, COUNT_BIG(*) AS accounts FROM dbo.rows r
                    LEFT JOIN dbo.subscribers a ON a.match_domain = r.domain AND a.match_alias = r.alias
                    LEFT JOIN (SELECT DISTINCT match_domain AS domain FROM dbo.subscribers WHERE match_alias IS NULL) d
                        ON d.domain = r.domain
                    WHERE r.position > (SELECT {after}) AND r.position <= (SELECT {after + range})
                        AND (a.id IS NOT NULL OR d.domain IS NOT NULL)
                    GROUP BY a.id, d.domain) matches
                """);
        }
        return Stopwatch.GetElapsedTime(began);
    }

    /// <summary>
    /// Returns how many rows of loads and subscribers the server has read since the database was created, by scan or
    /// by index, according to its own statistics. Null on SQL Server, which only counts page reads; Babelfish for
    /// PostgreSQL, which also speaks T-SQL, counts rows.
    /// </summary>
    public static async Task<long?> RowsReadAsync(string connection)
    {
        if (await ExecuteAsync(connection, "SELECT CAST(SERVERPROPERTY('BabelfishVersion') AS nvarchar(128))") is not string)
            return null;
        var schema = $"{new SqlConnectionStringBuilder(connection).InitialCatalog}_dbo";
        // A session reports its counts when it ends, with a delay.
        SqlConnection.ClearAllPools();
        for (long before = -1; ;)
        {
            await Task.Delay(TimeSpan.FromSeconds(2));
            var read = Convert.ToInt64(await ExecuteAsync(
                connection,
                "SELECT SUM(CAST(COALESCE(seq_tup_read, 0) + COALESCE(idx_tup_fetch, 0) AS bigint)) FROM "
                + $"pg_catalog.pg_stat_all_tables WHERE schemaname IN ('{schema}', 'dbo') AND relname IN ('rows', 'subscribers')"));
            if (read == before)
                return read;
            before = read;
        }
    }

    public static async Task<object?> ExecuteAsync(string connection, string sql)
    {
        await using var opened = new SqlConnection(connection);
        await opened.OpenAsync();
        await using var command = new SqlCommand(sql, opened) { CommandTimeout = 600 };
        return await command.ExecuteScalarAsync();
    }

    private async Task<(double, TimeSpan)> CopyAsync()
    {
        await ExecuteAsync(connectionString, "TRUNCATE TABLE dbo.rows");
        await using var database = SqlServerBreachDatabase.Open(connectionString, TimeProvider.System, NullLoggerFactory.Instance);
        var load = await PreparedLoad.StartAsync(database);
        await using var copy = await PreparedLoad.OpenCopyAsync(database, load);
        var began = Stopwatch.GetTimestamp();
        foreach (var batch in batches)
            await copy.CommitAsync(batch, new LoadCheckpoint(), false, CancellationToken.None);
        return (_rows, Stopwatch.GetElapsedTime(began));
    }

    private async Task<(double, TimeSpan)> CopyReadyAsync(InMemoryReader ready)
    {
        var load = await NewLoadAsync();
        ready.Restart(load.Value);
        using var copy = Bare();
        var began = Stopwatch.GetTimestamp();
        copy.WriteToServer(ready);
        return (_rows, Stopwatch.GetElapsedTime(began));
    }

    /// <summary>Copies a DataTable per batch, filled from the same bytes: what most programs do.</summary>
    private async Task<(double, TimeSpan)> CopyTablesAsync()
    {
        var load = await NewLoadAsync();
        using var copy = Bare();
        using var table = new DataTable { Locale = CultureInfo.InvariantCulture };
        foreach (var (column, type) in Columns.Zip([typeof(long), typeof(long), typeof(string), typeof(string)]))
            table.Columns.Add(column, type);
        var began = Stopwatch.GetTimestamp();
        foreach (var batch in batches)
        {
            table.Clear();
            for (var i = 0; i < batch.Count; i++)
                table.Rows.Add(
                    load.Value, batch.FirstPosition + i, Encoding.ASCII.GetString(batch.Alias(i)),
                    Encoding.ASCII.GetString(batch.Domain(i)));
            copy.WriteToServer(table);
        }
        return (_rows, Stopwatch.GetElapsedTime(began));
    }

    private async Task<LoadId> NewLoadAsync()
    {
        await ExecuteAsync(connectionString, "TRUNCATE TABLE dbo.rows");
        await using var database = SqlServerBreachDatabase.Open(connectionString, TimeProvider.System, NullLoggerFactory.Instance);
        return (await PreparedLoad.StartAsync(database)).Id;
    }

    private SqlBulkCopy Bare()
    {
        var copy = new SqlBulkCopy(connectionString)
        {
            DestinationTableName = "dbo.rows",
            BatchSize = LoadSettings.DefaultBatchRows,
            BulkCopyTimeout = 600,
        };
        foreach (var column in Columns)
            copy.ColumnMappings.Add(column, column);
        return copy;
    }

    private InMemoryReader Ready()
    {
        var accounts = new List<(string Alias, string Domain)>(_rows);
        foreach (var batch in batches)
        {
            for (var i = 0; i < batch.Count; i++)
                accounts.Add((Encoding.ASCII.GetString(batch.Alias(i)), Encoding.ASCII.GetString(batch.Domain(i))));
        }
        return new InMemoryReader(Columns, accounts);
    }
}
