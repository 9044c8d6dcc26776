using HibpIngest.Cli.Output;

namespace HibpIngest.Tests.Sql;

public sealed partial class SqliteBreachDatabaseTests
{
    [Fact]
    public async Task Copy_is_a_consistent_snapshot_under_concurrent_writes()
    {
        // Several steps of the copy, with a commit between each two.
        await ExecuteAsync("CREATE TABLE large (content BLOB)");
        await ExecuteAsync(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) "
            + "INSERT INTO large SELECT zeroblob(1048576) FROM n");
        var owners = 0;
        var reported = new List<long>();
        await using var source = SqliteBreachDatabase.Open(FileOf(MainDatabase), Time);
        await source.CopyToAsync(
            FileOf("copy"), new ImmediateProgress<long>(bytes =>
            {
                reported.Add(bytes);
                Assert.True(Database.TryLockAsync($"lock {owners++}", Me, Lease, None).GetAwaiter().GetResult());
            }), None);
        Assert.True(owners >= 2, $"{owners} steps");
        Assert.Equal(reported.Order(), reported);
        Assert.Equal(owners, await CountAsync("locks"));
        Assert.Equal(0L, await ScalarAsync("SELECT COUNT(*) FROM locks", "copy"));
        Assert.Equal([FileOf("copy")], Directory.GetFiles(_folder, "copy.db*"));
        await using var copy = SqliteBreachDatabase.Open(FileOf("copy"), Time);
        Assert.Null(await copy.FindDamageAsync(None));
        Assert.Equal(await Database.GetSchemaVersionAsync(None), await copy.GetSchemaVersionAsync(None));
    }

    [Fact]
    public async Task Cancelled_copy_stops_at_the_next_step()
    {
        await ExecuteAsync("CREATE TABLE large (content BLOB)");
        await ExecuteAsync("INSERT INTO large VALUES (zeroblob(41943040))");
        await using var source = SqliteBreachDatabase.Open(FileOf(MainDatabase), Time);
        using var stop = new CancellationTokenSource();
        var steps = 0;
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => source.CopyToAsync(
            FileOf("copy"), new ImmediateProgress<long>(_ =>
            {
                steps++;
                stop.Cancel();
            }), stop.Token));
        Assert.Equal(1, steps);
    }

    [Fact]
    public async Task FindDamage_detects_a_zeroed_page()
    {
        var file = await CopyAsync();
        await using (var torn = new FileStream(file, FileMode.Open, FileAccess.ReadWrite))
        {
            // Zeroes a page in the middle.
            torn.Position = torn.Length / 4096 / 2 * 4096;
            await torn.WriteAsync(new byte[4096]);
        }
        await using var copy = SqliteBreachDatabase.Open(file, Time);
        Assert.NotNull(await copy.FindDamageAsync(None));
    }

    [Fact]
    public async Task Settle_merges_the_log_and_refuses_a_file_in_use()
    {
        await Database.TryLockAsync("sweep", Me, Lease, None);
        var refused = Assert.Throws<NotPossibleException>(() => SqliteBreachDatabase.Settle(FileOf(MainDatabase)));
        Assert.Contains("is in use by another process", refused.Message, StringComparison.Ordinal);
        var copy = await CopyAsync();
        await using (var other = SqliteBreachDatabase.Open(copy, Time))
            await other.TryLockAsync("other", Me, Lease, None);
        SqliteBreachDatabase.Settle(copy);
        Assert.Equal([copy], Directory.GetFiles(_folder, Path.GetFileName(copy) + "*"));
        Assert.Equal(2L, await ScalarAsync("SELECT COUNT(*) FROM locks", "copy"));
    }

    [Fact]
    public async Task Settle_merges_the_log_that_a_killed_process_left()
    {
        await Database.TryLockAsync("sweep", Me, Lease, None);
        // The files as a kill leaves them: the write-ahead log isn't merged into the database yet, and its index exists.
        var killed = FileOf("killed");
        foreach (var suffix in (string[])["", "-wal", "-shm"])
        {
            await using var from = new FileStream(
                FileOf(MainDatabase) + suffix, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
            await using var to = new FileStream(killed + suffix, FileMode.CreateNew);
            await from.CopyToAsync(to);
        }
        Assert.True(new FileInfo(killed + "-shm").Length > 0);
        SqliteBreachDatabase.Settle(killed);
        Assert.False(File.Exists(killed + "-wal"));
        Assert.Equal(1L, await ScalarAsync("SELECT COUNT(*) FROM locks", "killed"));
    }

    [Fact]
    public async Task SkipNotificationIds_continues_far_after_all_ids_used_before()
    {
        await using var database = SqliteBreachDatabase.Open(FileOf(MainDatabase), Time);
        const string Last = "SELECT seq FROM sqlite_sequence WHERE name = 'notifications'";
        await database.SkipNotificationIdsAsync(None);
        var first = (long)(await ScalarAsync(Last))!;
        Assert.Equal(Time.GetUtcNow().ToUnixTimeMilliseconds(), first);
        await database.SkipNotificationIdsAsync(None);
        Assert.Equal(first + 1_000_000_000L, await ScalarAsync(Last));

        // The same backup, restored a second time.
        await ExecuteAsync("UPDATE sqlite_sequence SET seq = 0 WHERE name = 'notifications'");
        Time.Advance(TimeSpan.FromHours(1));
        await database.SkipNotificationIdsAsync(None);
        Assert.Equal(first + 3_600_000L, await ScalarAsync(Last));
    }
}
