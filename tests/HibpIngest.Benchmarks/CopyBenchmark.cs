using SQLitePCL;
using static HibpIngest.Benchmarks.BareSqlite;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Compares batches (rows, checkpoint and slices in one transaction) with bare prepared inserts of the same rows into
/// the same table, with as many rows per transaction.
/// </summary>
internal sealed class CopyBenchmark(IReadOnlyList<AccountBatch> batches, string folder)
{
    private int _file;

    public Task MeasureAsync(Pairs pairs) => pairs.MeasureAsync("copy", "row", InsertAsync, CopyAsync);

    private async Task<(double, TimeSpan)> CopyAsync()
    {
        await using var database = SqliteBreachDatabase.Open(NewFile(), TimeProvider.System);
        await database.UpgradeAsync(CancellationToken.None);
        var load = await PreparedLoad.StartAsync(database);
        await using var copy = await PreparedLoad.OpenCopyAsync(database, load);
        var began = Stopwatch.GetTimestamp();
        foreach (var batch in batches)
            await copy.CommitAsync(batch, new LoadCheckpoint(), false, CancellationToken.None);
        return (batches.Sum(batch => batch.Count), Stopwatch.GetElapsedTime(began));
    }

    private async Task<(double, TimeSpan)> InsertAsync()
    {
        var file = NewFile();
        await using (var schema = SqliteBreachDatabase.Open(file, TimeProvider.System))
            await schema.UpgradeAsync(CancellationToken.None);
        using var database = Open(file);
        Check(raw.sqlite3_exec(database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"));
        Check(raw.sqlite3_prepare_v2(database, "INSERT INTO rows (id, alias, domain) VALUES (?1, ?2, ?3)", out var insert));
        var began = Stopwatch.GetTimestamp();
        using (insert)
        {
            foreach (var batch in batches)
            {
                Check(raw.sqlite3_exec(database, "BEGIN IMMEDIATE"));
                for (var i = 0; i < batch.Count; i++)
                {
                    raw.sqlite3_bind_int64(insert, 1, (1L << 40) | (batch.FirstPosition + i));
                    raw.sqlite3_bind_blob(insert, 2, batch.Alias(i));
                    raw.sqlite3_bind_blob(insert, 3, batch.Domain(i));
                    if (raw.sqlite3_step(insert) != raw.SQLITE_DONE)
                        throw new InvalidOperationException("an insert failed");
                    raw.sqlite3_reset(insert);
                }
                Check(raw.sqlite3_exec(database, "COMMIT"));
            }
        }
        return (batches.Sum(batch => batch.Count), Stopwatch.GetElapsedTime(began));
    }

    private string NewFile()
    {
        foreach (var old in Directory.GetFiles(folder, "copy-*"))
            File.Delete(old);
        return Path.Combine(folder, $"copy-{++_file}.db");
    }
}
