namespace HibpIngest.Tests.Sql;

public sealed partial class SqliteBreachDatabaseTests
{
    [Fact]
    public async Task Open_creates_the_folder_and_accepts_a_path_or_a_connection_string()
    {
        var file = Path.Combine(_folder, "deep", "er", "x.db");
        await using (var byPath = SqliteBreachDatabase.Open(file, Time))
        {
            Assert.Equal(file, byPath.DisplayName);
            await byPath.UpgradeAsync(None);
            await byPath.TryLockAsync("lock", Me, Lease, None);
        }
        await using var byConnectionString = SqliteBreachDatabase.Open($"data source={file}", Time);
        Assert.Equal(file, byConnectionString.DisplayName);
        Assert.False(await byConnectionString.TryLockAsync("lock", Other, Lease, None));
    }

    [Theory]
    [InlineData("")]
    [InlineData(":memory:")]
    [InlineData("file:x.db?mode=memory")]
    [InlineData("Data Source=x.db;Password=hunter2")]
    [InlineData("Data Source='x.db")]
    public void Open_refuses_text_that_names_no_file(string text)
    {
        var refused = Assert.Throws<StoreRefusedException>(() => SqliteBreachDatabase.Open(text, Time));
        Assert.DoesNotContain("hunter2", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Impossible_path_is_refused()
    {
        var file = Path.Combine(_folder, "plain.txt");
        await File.WriteAllTextAsync(file, "no folder");
        await using var below = SqliteBreachDatabase.Open(Path.Combine(file, "x.db"), Time);
        await Assert.ThrowsAsync<StoreRefusedException>(() => below.UpgradeAsync(None));
        await using var folder = SqliteBreachDatabase.Open(_folder, Time);
        await Assert.ThrowsAsync<StoreRefusedException>(() => folder.UpgradeAsync(None));
        await Assert.ThrowsAsync<StoreRefusedException>(() => folder.GetSchemaVersionAsync(None));
    }

    [Fact]
    public async Task File_that_is_no_database_is_refused_and_unchanged()
    {
        var file = Path.Combine(_folder, "plain.txt");
        var text = new string('x', 5_000);
        await File.WriteAllTextAsync(file, text);
        await using var database = SqliteBreachDatabase.Open(file, Time);
        var refused = await Assert.ThrowsAsync<StoreRefusedException>(() => database.UpgradeAsync(None));
        Assert.Equal($"'{file}' is not a database: name another file, or move this one away", refused.Message);
        await Assert.ThrowsAsync<StoreRefusedException>(() => database.GetSchemaVersionAsync(None));
        Assert.Equal(text, await File.ReadAllTextAsync(file));
    }

    [Fact]
    public async Task Another_programs_database_is_refused_and_unchanged()
    {
        await ExecuteAsync("CREATE TABLE theirs (id INTEGER)", "theirs");
        var before = await File.ReadAllBytesAsync(FileOf("theirs"));
        var database = OpenAnother("theirs");
        await Assert.ThrowsAsync<StoreRefusedException>(() => database.UpgradeAsync(None));
        await Assert.ThrowsAsync<StoreRefusedException>(() => database.GetSchemaVersionAsync(None));
        Assert.Equal(before, await File.ReadAllBytesAsync(FileOf("theirs")));
    }

    [Fact]
    public async Task Full_disk_is_reported_and_work_resumes_once_there_is_room()
    {
        var load = await IngestAsync(Numbered(10));
        var accounts = Enumerable.Range(0, 20_000).Select(i => $"somebody{i}@some-longer-domain{i}.example").ToList();
        await using (var full = SqliteBreachDatabase.Open(FileOf(MainDatabase), Time, maxPages: 100))
        {
            for (var attempt = 0; attempt < 2; attempt++)
            {
                var error = await Assert.ThrowsAsync<StoreFullException>(() => full.CommitBatchAsync(
                    load.Id, Me, Batch(11, accounts), LoadSettings.DefaultSliceRows, new LoadCheckpoint(), false, Lease, None));
                Assert.Contains(FileOf(MainDatabase), error.Message, StringComparison.Ordinal);
                Assert.DoesNotContain("@", error.Message, StringComparison.Ordinal);
                Assert.Equal(10, await CountAsync("rows"));
            }
            // A small batch still fits, on the same connection.
            await full.CommitBatchAsync(load.Id, Me, Batch(11, "x@example.com"), SliceRows, new LoadCheckpoint(), false, Lease, None);
        }
        await Database.CommitBatchAsync(
            load.Id, Me, Batch(12, accounts), LoadSettings.DefaultSliceRows, new LoadCheckpoint(), false, Lease, None);
        Assert.Equal(20_011, await CountAsync("rows"));
    }

    [Fact]
    public async Task Writer_waits_for_another_process_and_a_reader_does_not()
    {
        var load = await StartAsync();
        await using var writing = Connect(MainDatabase);
        await writing.OpenAsync();
        await using var transaction = writing.BeginTransaction(deferred: false);
        using var cancellation = new CancellationTokenSource();
        var cancelled = Database.TryClaimLoadAsync(load.Id, Other, Lease, cancellation.Token);
        var waiting = OpenAnother().TryClaimLoadAsync(load.Id, Me, Lease, None);
        Assert.NotNull(await Database.GetLoadAsync(load.Id, None));
        await cancellation.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => cancelled);
        Assert.False(waiting.IsCompleted);
        await transaction.RollbackAsync();
        Assert.True(await waiting);
    }

    [Fact]
    public async Task Concurrent_matches_of_a_range_write_it_once()
    {
        await ImportAsync("boss@example.org for example.com");
        var load = await UpsertAsync(Numbered(4));
        var another = OpenAnother();
        await using var writing = Connect(MainDatabase);
        await writing.OpenAsync();
        await using var transaction = writing.BeginTransaction(deferred: false);
        // Both read the rows and then wait for the write lock.
        var one = Database.MatchRowsAsync(load.Id, 0, 4, None);
        var two = another.MatchRowsAsync(load.Id, 0, 4, None);
        await transaction.RollbackAsync();
        Assert.Single(await Task.WhenAll(one, two), won => won);
        Assert.Equal(LoadState.Notifying, await Database.FinishMatchingAsync(load.Id, false, false, None));
        Assert.Equal(["1: boss@example.org for example.com, 4 accounts"], Format(await NotificationsAsync(load.Id)));
    }

    [Fact]
    public async Task Subscription_longer_than_any_account_does_not_stop_the_match()
    {
        await ImportAsync($"{new string('a', 400)}@example.com", "user1@example.com");
        var load = await UpsertAsync(Numbered(4));
        Assert.Equal(LoadState.Notifying, await MatchAsync(load.Id));
        Assert.Equal(["1: user1@example.com"], Format(await NotificationsAsync(load.Id)));
    }

    [Fact]
    public async Task Cancellation_stops_a_running_statement()
    {
        // A subscription that matches each row, and a slow trigger: it ends only if it is cancelled.
        await ImportAsync("user1@example.com");
        var load = await UpsertAsync(Numbered(4));
        await ExecuteAsync(
            """
            CREATE TRIGGER endless BEFORE INSERT ON notifications
            BEGIN
                INSERT INTO locks (name, owner, expires_at)
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'endless', '', COUNT(*) FROM n;
            END
            """);
        using var cancellation = new CancellationTokenSource();
        var matching = Task.Run(() => Database.MatchRowsAsync(load.Id, 0, 4, cancellation.Token));
        // It has the write lock once no other connection can get it.
        await using (var probe = Connect(MainDatabase, timeoutSeconds: 1))
        {
            await probe.OpenAsync();
            while (true)
            {
                try
                {
                    await using var transaction = probe.BeginTransaction(deferred: false);
                }
                catch (Microsoft.Data.Sqlite.SqliteException e) when (e.SqliteErrorCode == SQLitePCL.raw.SQLITE_BUSY)
                {
                    break;
                }
            }
        }
        await cancellation.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => matching.WaitAsync(TimeSpan.FromSeconds(60)));
        await ExecuteAsync("DROP TRIGGER endless");
        Assert.True(await Database.MatchRowsAsync(load.Id, 0, 4, None));
    }

    [Fact]
    public async Task Matching_reads_a_range_of_rows_once_and_the_subscribers_once_without_sorting()
    {
        Assert.Equal(
            ["SEARCH rows USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"],
            await PlanAsync(SqliteBreachDatabase.RowsSql, "@after", "@upTo"));
        Assert.Equal(
            ["SEARCH subscribers USING INTEGER PRIMARY KEY (rowid<?)"],
            await PlanAsync(SqliteBreachDatabase.SubscribersSql, "@lastSubscriber"));
    }

    [Fact]
    public async Task Mail_progress_is_read_by_index_probes()
    {
        var steps = await PlanAsync(SqliteBreachDatabase.MailProgressSql, "@load");
        Assert.Contains(steps, step => step.Contains("INDEX notifications_waiting (load_id=?)", StringComparison.Ordinal));
        Assert.Contains(steps, step => step.Contains("INDEX notifications_by_load (load_id=?)", StringComparison.Ordinal));
        Assert.DoesNotContain(steps, step => step.Contains("SCAN", StringComparison.Ordinal) && !step.Contains("SCALAR",
            StringComparison.Ordinal));
    }

    private async Task<List<string>> PlanAsync(string sql, params string[] parameters)
    {
        await using var connection = Connect(MainDatabase);
        await connection.OpenAsync();
        await using var command = connection.CreateCommand();
        // Only the product's own connections name the main database dbo.
        command.CommandText = $"EXPLAIN QUERY PLAN {sql.Replace("dbo.", "", StringComparison.Ordinal)}";
        foreach (var parameter in parameters)
            command.Parameters.AddWithValue(parameter, 1);
        var steps = new List<string>();
        await using var row = await command.ExecuteReaderAsync();
        while (await row.ReadAsync())
            steps.Add(row.GetString(3));
        return steps;
    }

    [Fact]
    public async Task Schema_without_a_table_is_refused_naming_the_table()
    {
        await ExecuteAsync("DROP TABLE passwords");
        var refused = await Assert.ThrowsAsync<StoreRefusedException>(() => Database.GetPasswordAsync(Blob("a.zip"), None));
        Assert.Contains("passwords", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Sqlite_library_is_recent_enough_and_is_the_documented_version()
    {
        Assert.True(SqliteSession.LibraryVersion >= new Version(3, 50, 4), $"SQLite {SqliteSession.LibraryVersion}");
        Assert.Contains(
            $"The bundled SQLite is {SqliteSession.LibraryVersion}.", DocumentFiles.ReadAllUnwrapped(), StringComparison.Ordinal);
    }
}
