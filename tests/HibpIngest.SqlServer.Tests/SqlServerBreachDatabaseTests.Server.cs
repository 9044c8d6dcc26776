using HibpIngest.Storage.Sql.SqlServer;
using Microsoft.Data.SqlClient;
using Microsoft.Extensions.Logging;

namespace HibpIngest.SqlServer.Tests;

public sealed partial class SqlServerBreachDatabaseTests
{
    private const int TimedOut = 1600;
    private const int Retrying = 1602;

    [Fact]
    public async Task Copy_that_times_out_is_retried_in_smaller_pieces_without_duplicates()
    {
        const int Rows = 20_000;
        var load = await ClaimAsync();

        // Another connection locks the table, as building an index does, until the copy has timed out.
        await using var holder = new SqlConnection(ConnectionTo(MainDatabase));
        await holder.OpenAsync();
        var holding = holder.BeginTransaction();
        await using (var alter = new SqlCommand("ALTER TABLE dbo.rows ADD CONSTRAINT held CHECK (position > 0)", holder, holding))
            await alter.ExecuteNonQueryAsync();
        var logs = new CollectingLogger
        {
            OnEvent = id =>
            {
                if (id == TimedOut)
                    holding.Rollback();
            },
        };
        await using var slow = OpenWith(new SqlServerOptions { CopyTimeout = TimeSpan.FromSeconds(1) }, logs);

        var slices = await CommitAsync(slow, load.Id, Many(1, Rows));
        Assert.Equal([(1, 1L, 10_000L), (2, 10_001L, 20_000L)], slices.Select(slice => (slice.Number, slice.First, slice.Last)));
        Assert.Equal(
            [$"load {load.Id}: copy of 20000 rows timed out; copying this batch and later ones in pieces of 10000 rows"],
            LinesOf(logs, TimedOut));
        await HoldsAsync(load.Id, Rows);
    }

    [Fact]
    public async Task Copy_keeps_the_piece_size_that_succeeded_for_the_rest_of_the_load()
    {
        const int TakesAtMost = 3_000;
        var load = await ClaimAsync();
        var copies = new List<int>();
        var logs = new CollectingLogger();
        // Large pieces time out at once; the second piece of 5,000 does so too, after a part of the batch was copied.
        await using var slow = OpenWith(rows =>
        {
            copies.Add(rows);
            if (rows > TakesAtMost && (rows > 7_000 || copies.Count(one => one == rows) == 2))
                throw DriverErrors.Sql("Execution Timeout Expired", -2);
        }, logs);
        await CommitAsync(slow, load.Id, Many(1, 20_000));
        Assert.Equal([20_000, 10_000, 5_000, 5_000, .. Enumerable.Repeat(2_500, 8)], copies);
        Assert.Equal(3, LinesOf(logs, TimedOut).Count);
        await HoldsAsync(load.Id, 20_000);
        copies.Clear();
        await CommitAsync(slow, load.Id, Many(20_001, 6_000));
        Assert.Equal([2_500, 2_500, 1_000], copies);
        await HoldsAsync(load.Id, 26_000);
        Assert.Equal(3, LinesOf(logs, TimedOut).Count);

        var other = await ClaimAsync("Bold");
        copies.Clear();
        await CommitAsync(slow, other.Id, Many(1, 2_900));
        Assert.Equal([2_900], copies);
    }

    [Fact]
    public async Task Copy_that_always_times_out_throws_and_writes_nothing()
    {
        var load = await ClaimAsync();
        var copies = new List<int>();
        var stuck = true;
        await using var slow = OpenWith(rows =>
        {
            copies.Add(rows);
            if (stuck)
                throw DriverErrors.Invalid(
                    "Cannot access destination table 'dbo.rows'.", DriverErrors.Sql("Execution Timeout Expired", -2));
        });
        await Assert.ThrowsAsync<UnavailableException>(() => CommitAsync(slow, load.Id, Many(1, 3_000)));
        Assert.Equal([3_000, 1_500, 1_000], copies);
        Assert.Equal((0, 0), (await CountAsync("rows"), (await LoadAsync(load.Id)).LastPosition));
        stuck = false;
        await CommitAsync(slow, load.Id, Many(1, 3_000));
        await HoldsAsync(load.Id, 3_000);
    }

    [Fact]
    public async Task Transient_error_during_a_copy_is_retried_until_RetryFor_ends()
    {
        var load = await ClaimAsync();
        var copies = 0;
        var logs = new CollectingLogger();
        var options = new SqlServerOptions
        {
            CopyRows = 1_000,
            BeforeCopy = _ =>
            {
                if (++copies is 2 or 5)
                    throw DriverErrors.Sql("The service is currently busy", 40501);
            },
        };
        await using var throttled = OpenWith(options, logs);
        await CommitAsync(throttled, load.Id, Many(1, 3_000));
        await HoldsAsync(load.Id, 3_000);
        var lines = LinesOf(logs, Retrying);
        Assert.All(lines, line => Assert.Matches("^database: retrying in .*SQL Server error 40501", line));
        Assert.Equal(2, lines.Count);

        options = new SqlServerOptions
        {
            RetryFor = TimeSpan.FromMilliseconds(300),
            BeforeCopy = _ => throw DriverErrors.Sql("The service is currently busy", 40501),
        };
        await using var down = OpenWith(options);
        await Assert.ThrowsAsync<UnavailableException>(() => CommitAsync(down, load.Id, Many(3_001, 10)));
        await HoldsAsync(load.Id, 3_000);
    }

    [Fact]
    public async Task Slices_beyond_one_statements_limit_are_recorded_without_gaps()
    {
        var load = await ClaimAsync();
        foreach (var (first, count) in new[] { (1, 2_500), (2_501, 3) })
        {
            var slices = await Database.CommitBatchAsync(load.Id, Me, Many(first, count), 1, new LoadCheckpoint(), false, Lease, None);
            Assert.Equal(Expected(first, count), slices.Select(Shown));
        }
        Assert.Equal(Expected(1, 2_503), (await SlicesAsync(load.Id)).Select(Shown));

        static IEnumerable<(int, long, long, int)> Expected(int first, int count) =>
            Enumerable.Range(first, count).Select(i => (i, (long)i, (long)i, 1));
        static (int, long, long, int) Shown(Slice slice) => (slice.Number, slice.First, slice.Last, slice.Count);
    }

    [Fact]
    public async Task Readers_do_not_wait_for_a_copy()
    {
        var load = await IngestAsync(Numbered(4));
        await using var copying = new SqlConnection(ConnectionTo(MainDatabase));
        await copying.OpenAsync();
        await using var transaction = copying.BeginTransaction();
        await using (var insert = new SqlCommand(
            "UPDATE dbo.loads SET last_position = 5; INSERT INTO dbo.rows VALUES (1, 5, 'a', 'b.org')", copying, transaction))
            await insert.ExecuteNonQueryAsync();
        var read = new AccountBatch(10);
        await Database.ReadRowsAsync(load.Id, 1, 10, read, None).WaitAsync(TimeSpan.FromSeconds(20));
        Assert.Equal(Numbered(4), Accounts(read));
        Assert.Equal(4, (await Database.GetLoadAsync(load.Id, None).WaitAsync(TimeSpan.FromSeconds(20)))!.LastPosition);
        Assert.Null(await Database.CheckSetUpAsync(None));
    }

    [Fact]
    public async Task Upgrade_keeps_foreign_tables_and_refuses_only_colliding_names()
    {
        var coexisting = OpenAnother("beside");
        TestServer.Execute(NameOf("beside"), "CREATE TABLE dbo.theirs (id int)");
        await coexisting.UpgradeAsync(None);
        Assert.NotEqual(DBNull.Value, TestServer.Scalar(NameOf("beside"), "SELECT OBJECT_ID('dbo.theirs')"));

        var colliding = OpenAnother("against");
        TestServer.Execute(NameOf("against"), "CREATE TABLE dbo.rows (id int)");
        Assert.Equal(0, (await colliding.GetSchemaVersionAsync(None)).Found);
        var refused = await Assert.ThrowsAsync<StoreRefusedException>(() => colliding.UpgradeAsync(None));
        Assert.Contains("'dbo.rows'", refused.Message, StringComparison.Ordinal);
        Assert.Equal(DBNull.Value, TestServer.Scalar(NameOf("against"), "SELECT OBJECT_ID('dbo.loads')"));
    }

    [Fact]
    public async Task Missing_database_wrong_password_and_untrusted_certificate_are_refused()
    {
        const string Secret = "wrong-Passw0rd";
        await RefusedAsync(TestServer.ConnectionTo("hibp_test_nothing"), "the database doesn't exist");
        var settings = new SqlConnectionStringBuilder(ConnectionTo(MainDatabase)) { Password = Secret };
        var wrong = await RefusedAsync(settings.ConnectionString, "login was refused");
        Assert.DoesNotContain(Secret, wrong.ToString(), StringComparison.Ordinal);
        settings = new(ConnectionTo(MainDatabase)) { TrustServerCertificate = false, Encrypt = SqlConnectionEncryptOption.Mandatory };
        await RefusedAsync(settings.ConnectionString, "certificate");

        async Task<StoreRefusedException> RefusedAsync(string connection, string expected)
        {
            await using var database = OpenAt(connection);
            var refused = await Assert.ThrowsAsync<StoreRefusedException>(() => database.GetSchemaVersionAsync(None));
            Assert.Contains(expected, refused.Message, StringComparison.Ordinal);
            return refused;
        }
    }

    [Fact]
    public async Task Role_member_can_run_the_pipeline_but_not_change_the_schema()
    {
        var login = $"hibp_test_{Guid.NewGuid():N}";
        var password = $"Aa1!{Guid.NewGuid():N}";
        TestServer.Execute("master", $"CREATE LOGIN {login} WITH PASSWORD = '{password}'");
        try
        {
            await ExecuteAsync($"CREATE USER {login} FOR LOGIN {login}");
            await ExecuteAsync($"ALTER ROLE hibp_app ADD MEMBER {login}");
            var connection =
                new SqlConnectionStringBuilder(ConnectionTo(MainDatabase)) { UserID = login, Password = password }.ConnectionString;
            await using var app = OpenAt(connection);
            await EverythingAsync(app);

            foreach (var sql in new[] { "DROP TABLE dbo.rows", "ALTER TABLE dbo.loads ADD more int", "CREATE TABLE dbo.mine (id int)",
                    "DELETE FROM dbo.hibp_schema", "UPDATE dbo.rows SET alias = 'x'" })
            {
                await using var plain = new SqlConnection(connection);
                await plain.OpenAsync();
                await using var command = new SqlCommand(sql, plain);
                await Assert.ThrowsAsync<SqlException>(() => command.ExecuteNonQueryAsync());
            }
        }
        finally
        {
            SqlConnection.ClearAllPools();
            await ExecuteAsync($"DROP USER IF EXISTS {login}");
            TestServer.Execute("master", $"DROP LOGIN {login}");
        }
    }

    [Fact]
    public async Task Timestamps_come_from_the_servers_clock()
    {
        await using var byServer = SqlServerBreachDatabase.Open(
            ConnectionTo(MainDatabase), TimeProvider.System, NullLoggerFactory.Instance);
        var load = await byServer.StartLoadAsync("Adobe", new BreachMetadata(), Blob(), Settings, null, None);
        var serversNow = new DateTimeOffset((DateTime)TestServer.Scalar(NameOf(MainDatabase), "SELECT SYSUTCDATETIME()")!, TimeSpan.Zero);
        Assert.InRange(serversNow - load.StartedAt, TimeSpan.FromMilliseconds(-1), TimeSpan.FromMinutes(1));
        Assert.True(await byServer.TryClaimLoadAsync(load.Id, Me, Lease, None));
        Assert.False(await byServer.TryClaimLoadAsync(load.Id, Other, Lease, None));
    }

    /// <summary>Calls each method of the port at least once.</summary>
    private async Task EverythingAsync(SqlServerBreachDatabase app)
    {
        Assert.Equal(SqlServerSchema.Expected, (await app.GetSchemaVersionAsync(None)).Found);
        Assert.Null(await app.CheckSetUpAsync(None));
        await app.AddIdentityAsync(new(Guid.NewGuid(), 1, 1), None);
        Assert.NotNull(await app.GetIdentityAsync(None));
        Assert.True(await app.TryLockAsync("sweep", Me, Lease, None));
        await app.UnlockAsync("sweep", Me, None);
        await app.ImportSubscribersAsync([new("user1@example.com", null), new("boss@example.org", "example.com")], null, None);
        Assert.Equal(2, await app.ListSubscribersAsync(None).CountAsync());
        var key = SuppressionKey.Parse(Convert.ToBase64String(new byte[32]))!;
        Subscription[] forgotten = [new("gone@example.net", null)];
        Assert.Equal(new SubscribersImported(1, 0), await app.ImportSubscribersAsync(forgotten, key, None));
        var suppression = new Suppression(key.HashOf("gone@example.net"), SuppressionReason.Forgotten, Now);
        await app.RemoveSubscribersAsync([new("gone@example.net", null, suppression)], key.Check, erase: true, None);
        Assert.Equal(key.Check, await app.GetSuppressionKeyCheckAsync(None));
        Assert.Equal(suppression.Hash, Assert.Single(await app.ListSuppressionsAsync(None)).Hash);
        Assert.Equal(new SubscribersImported(0, 1), await app.ImportSubscribersAsync(forgotten, key, None));
        await app.LiftSuppressionsAsync([suppression.Hash], None);
        await app.PutPasswordAsync(Blob("a.zip"), [1], None);
        await app.PutPasswordAsync(Blob("a.zip"), [2], None);
        Assert.Equal([2], await app.GetPasswordAsync(Blob("a.zip"), None));
        await app.DeletePasswordAsync(Blob("a.zip"), None);

        var first = await app.StartLoadAsync("Adobe", new BreachMetadata(), Blob(), Settings, null, None);
        await app.FailLoadAsync(first.Id, "no", None);
        Assert.Equal(LoadState.Ingesting, await app.ResumeLoadAsync(first.Id, None));
        var load = await app.RestartLoadAsync(first.Id, Settings, None);
        Assert.True(await app.TryClaimLoadAsync(load.Id, Me, Lease, None));
        Assert.True(await app.RenewLoadAsync(load.Id, Me, Lease, None));
        var slices = await app.CommitBatchAsync(
            load.Id, Me, Batch(1, Numbered(7)), SliceRows, new LoadCheckpoint(), duplicatesPossible: true, Lease, None);
        await app.FinishIngestAsync(load.Id, Me, new LoadCheckpoint(), None);
        await app.ReleaseLoadAsync(load.Id, Me, None);
        await app.MarkSlicesQueuedAsync(load.Id, 1, 3, None);
        await app.FailSliceAsync(load.Id, 1, "no", exhausted: true, None);
        Assert.Single(await app.RequeueSlicesAsync(load.Id, null, failedOnly: true, None));
        await app.ListPendingSlicesAsync(TimeSpan.Zero, 10, None);
        await app.ListStaleSlicesAsync(TimeSpan.Zero, 10, None);
        foreach (var slice in slices)
        {
            Assert.NotNull(await app.BeginSliceAsync(load.Id, slice.Number, 5, None));
            await app.RefundSliceAttemptAsync(load.Id, slice.Number, "down", None);
            var rows = new AccountBatch(SliceRows);
            await app.ReadRowsAsync(load.Id, slice.First, slice.Last, rows, None);
            await app.CompleteSliceAsync(load.Id, slice.Number, rows.Count, None);
        }
        Assert.Equal(3, (await app.ListSlicesAsync(load.Id, false, None)).Count);
        Assert.True(await app.TryStartMatchingAsync(load.Id, None));
        Assert.True(await app.MatchRowsAsync(load.Id, 0, 4, None));
        Assert.True(await app.MatchRowsAsync(load.Id, 4, 7, None));
        Assert.Equal(LoadState.Held, await app.FinishMatchingAsync(load.Id, hold: true, suppress: false, None));
        Assert.True(await app.ReleaseLoadNotificationsAsync(load.Id, None));
        Assert.Equal(2, (await app.ListNotificationsAsync(load.Id, 1, 10, None)).Count);
        var (claimed, _) = await app.ClaimNotificationsAsync(load.Id, 1, 10, Me, Lease, None);
        await app.ReleaseClaimsAsync(load.Id, 2, 2, Me, None);
        foreach (var notification in claimed)
            Assert.True((await app.CompleteNotificationAsync(notification.Id, Me, null, None)).Recorded);
        Assert.True(await app.TryFinishLoadAsync(load.Id, None));
        await app.MergeMetadataAsync("Adobe", "{}"u8.ToArray(), byOperator: true, None);
        Assert.True(await app.SetHiddenAsync("Adobe", true, None));
        Assert.Single(await app.ListBreachesAsync(None));
        Assert.Equal(2, (await app.ListLoadsAsync(null, None)).Count);
        Assert.Equal(5, await app.PurgeRowsAsync(load.Id, 5, None));
        await app.RemoveBreachAsync("Adobe", None);
        Assert.True(await app.HasLoadsAsync(None));
    }

    private static AccountBatch Many(int first, int count)
    {
        var batch = new AccountBatch(count) { FirstPosition = first };
        for (var i = first; i < first + count; i++)
            batch.Add(System.Text.Encoding.ASCII.GetBytes($"user{i}"), System.Text.Encoding.ASCII.GetBytes($"d{i % 97}.example"));
        return batch;
    }

    /// <summary>Asserts that the load has exactly the rows of <see cref="Many"/>.</summary>
    private async Task HoldsAsync(LoadId load, int count)
    {
        var expected = Many(1, count);
        var read = new AccountBatch(count + 1);
        await Database.ReadRowsAsync(load, 0, long.MaxValue, read, None);
        Assert.Equal(Accounts(expected), Accounts(read));
        Assert.Equal(count, (await LoadAsync(load)).LastPosition);
    }

    private SqlServerBreachDatabase OpenAt(string connection) => SqlServerBreachDatabase.Open(connection, Time, NullLoggerFactory.Instance);

    private SqlServerBreachDatabase OpenWith(Action<int> beforeCopy, CollectingLogger? logs = null) =>
        OpenWith(new SqlServerOptions { BeforeCopy = beforeCopy }, logs);

    private SqlServerBreachDatabase OpenWith(SqlServerOptions options, CollectingLogger? logs = null) => SqlServerBreachDatabase.Open(
        ConnectionTo(MainDatabase), Time, new LoggerFactory(logs is null ? [] : [logs]), options);

    private static List<string> LinesOf(CollectingLogger logs, int id) =>
        [.. logs.Lines.Where(line => line.Event == id).Select(line => line.Text)];

    private static Task<IReadOnlyList<Slice>> CommitAsync(SqlServerBreachDatabase database, LoadId load, AccountBatch batch) =>
        database.CommitBatchAsync(load, Me, batch, 10_000, new LoadCheckpoint(), false, Lease, None);
}
