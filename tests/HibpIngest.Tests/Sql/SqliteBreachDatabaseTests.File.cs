namespace HibpIngest.Tests.Sql;

public sealed partial class SqliteBreachDatabaseTests
{
    private static readonly string[] FileSuffixes = ["", "-wal", "-shm"];

    [Theory]
    [InlineData("deleted")]
    [InlineData("moved away")]
    [InlineData("replaced by a copy of itself")]
    [InlineData("replaced by an empty file")]
    public async Task Deleted_moved_or_replaced_file_fails_every_call(string what)
    {
        var load = await IngestAsync(Numbered(4));
        var copy = await CopyAsync();
        switch (what)
        {
            case "deleted":
                Array.ForEach(FileSuffixes, suffix => File.Delete(FileOf(MainDatabase) + suffix));
                break;
            case "moved away":
                MoveAway();
                break;
            case "replaced by a copy of itself":
                File.Move(copy, FileOf(MainDatabase), overwrite: true);
                break;
            default:
                await File.WriteAllBytesAsync(copy, []);
                File.Move(copy, FileOf(MainDatabase), overwrite: true);
                break;
        }
        // A batch, the first query of a sweep, and the read of a stage.
        foreach (var call in new Func<Task>[]
            {
                () =>
                    Database.CommitBatchAsync(load.Id, Me, Batch(5, "x@example.com"), SliceRows, new LoadCheckpoint(), false, Lease, None),
                () => Database.TryLockAsync("sweep", Me, Lease, None),
                () => Database.GetLoadAsync(load.Id, None),
                () => Database.GetSchemaVersionAsync(None),
                () => Database.UpgradeAsync(None),
            })
        {
            var error = await Assert.ThrowsAsync<StoreMismatchException>(call);
            Assert.StartsWith(
                $"database '{FileOf(MainDatabase)}' was deleted, moved or replaced while this process was using it", error.Message,
                StringComparison.Ordinal);
        }
        // No new file was created in its place.
        if (what is "deleted" or "moved away")
            Assert.False(File.Exists(FileOf(MainDatabase)));
    }

    [Fact]
    public async Task File_moved_within_a_transaction_is_not_committed_to()
    {
        Assert.True(await Database.TryLockAsync("sweep", Me, Lease, None));
        // The clock is read between the beginning of the transaction and its end.
        Time.OnRead = () =>
        {
            Time.OnRead = null;
            MoveAway();
        };
        await Assert.ThrowsAsync<StoreMismatchException>(() => Database.TryLockAsync("other", Me, Lease, None));
        MoveBack();
        Assert.Equal(1, await CountAsync("locks"));
        // The same file is back, so the work continues.
        Assert.True(await Database.TryLockAsync("other", Me, Lease, None));
        Assert.Equal(2, await CountAsync("locks"));
    }

    [Fact]
    public async Task Closing_a_replaced_database_keeps_the_new_file()
    {
        await using var running = SqliteBreachDatabase.Open(FileOf(MainDatabase), Time);
        Assert.True(await running.TryLockAsync("sweep", Me, Lease, None));
        MoveAway();
        // Another process starts with a new file, and has the new file's write-ahead log open.
        await using var fresh = SqliteBreachDatabase.Open(FileOf(MainDatabase), Time);
        await fresh.UpgradeAsync(None);
        Assert.True(await fresh.TryLockAsync("sweep", Other, Lease, None));
        await Assert.ThrowsAsync<StoreMismatchException>(() => running.TryLockAsync("sweep", Me, Lease, None));
        await running.DisposeAsync();
        Assert.True(File.Exists(FileOf(MainDatabase) + "-wal"));
        Assert.Equal(1, await CountAsync("locks"));
        Assert.False(await fresh.TryLockAsync("sweep", Me, Lease, None));
    }

    [Fact]
    public async Task Reading_a_missing_file_does_not_create_it()
    {
        var file = Path.Combine(_folder, "deep", "er", "x.db");
        await using var database = SqliteBreachDatabase.Open(file, Time);
        Assert.Equal((0, (await Database.GetSchemaVersionAsync(None)).Expected), await database.GetSchemaVersionAsync(None));
        foreach (var call in new Func<Task>[] { () => database.ListLoadsAsync(null, None), () => database.GetIdentityAsync(None),
                () => database.TryLockAsync("sweep", Me, Lease, None) })
        {
            var error = await Assert.ThrowsAsync<StoreMissingException>(call);
            Assert.Contains($"there is no database '{file}'", error.Message, StringComparison.Ordinal);
        }
        Assert.False(Directory.Exists(Path.Combine(_folder, "deep")));
        await database.UpgradeAsync(None);
        Assert.True(await database.TryLockAsync("sweep", Me, Lease, None));
    }

    /// <summary>Copies the file with everything committed.</summary>
    private async Task<string> CopyAsync()
    {
        var copy = FileOf("copy");
        await ExecuteAsync($"VACUUM INTO '{copy}'");
        return copy;
    }

    private void MoveAway() => MoveAll(FileOf(MainDatabase), FileOf("moved"));

    private void MoveBack() => MoveAll(FileOf("moved"), FileOf(MainDatabase));

    private static void MoveAll(string from, string to)
    {
        foreach (var suffix in FileSuffixes)
            File.Move(from + suffix, to + suffix);
    }
}
