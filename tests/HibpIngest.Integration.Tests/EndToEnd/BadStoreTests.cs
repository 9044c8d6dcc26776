namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests that an unusable store ends a command, including <c>hibp run</c>, with one line and exit code 1.</summary>
public sealed class BadStoreTests : CommandTestBase
{
    /// <summary>Far more than the retries take.</summary>
    private static readonly TimeSpan Bounded = TimeSpan.FromMinutes(2);

    private string Storage => Variables["HIBP_STORAGE"];

    [Fact]
    public async Task Commands_report_status_403_when_storage_refuses_the_key()
    {
        var wrong = ConnectionStrings.WithWrongKey(Storage);
        foreach (var command in new string[][] { ["run"], ["drop", Zip()], ["lookup", "user1@example.com"] })
        {
            var line = await RefusalAsync(wrong, "hibp.db", command);
            Assert.Contains("status 403", line, StringComparison.Ordinal);
            Assert.DoesNotContain(ConnectionStrings.WrongKey, line, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task Commands_report_a_refused_connection_when_storage_is_unreachable()
    {
        var nowhere = ConnectionStrings.Of($"http://127.0.0.1:{TestProcess.FreePort()}");
        (await RunAsync(nowhere, "1.db", "database", "upgrade")).Succeeded();
        var lines =
            await Task.WhenAll(RefusalAsync(nowhere, "1.db", "status"), RefusalAsync(nowhere, "2.db", "run"),
                RefusalAsync(nowhere, "3.db", "drop", Zip())).WaitAsync(Bounded);
        Assert.All(lines, line => Assert.Contains("no connection (ConnectionRefused)", line, StringComparison.Ordinal));
    }

    [Fact]
    public async Task Commands_refuse_a_file_that_is_not_a_database_and_leave_it_unchanged()
    {
        var text = Folder.Write("text.db", new string('x', 5000) + "somebody@example.com");
        foreach (var command in new[] { "run", "status", "breaches" })
        {
            var line = await RefusalAsync(Storage, "text.db", command);
            Assert.Contains("text.db", line, StringComparison.Ordinal);
            Assert.Contains("not a database", line, StringComparison.Ordinal);
        }
        Assert.Equal(new string('x', 5000) + "somebody@example.com", await File.ReadAllTextAsync(text));
    }

    [Fact]
    public async Task Host_refuses_a_database_that_belongs_to_another_account_table()
    {
        await HibpInProcess.SetUpAsync(Folder.Path, With(Storage, "own.db"));
        Assert.Contains(
            "the account table belongs to another database", await RefusalAsync(Storage, "other.db", "run"), StringComparison.Ordinal);

        // A storage account that already has another database's table.
        await HibpInProcess.SetUpAsync(Folder.Path, With(await AzuriteFixture.NewAccountAsync(), "other.db"));
        Assert.Contains("do not belong together", await RefusalAsync(Storage, "other.db", "run"), StringComparison.Ordinal);
        (await RunAsync(Storage, "own.db", "status")).Succeeded();
    }

    [Fact]
    public async Task Host_stops_when_its_database_file_is_deleted()
    {
        await using var host = await StartAsync("ready", "run");
        var database = Variables["HIBP_DATABASE"];
        File.Delete(database);
        // As any storage tool does.
        using var account = StorageAccount.Open(Storage, NullLoggerFactory.Instance);
        await using (var zip = File.OpenRead(Zip()))
            await account.Blobs.UploadAsync("Whole.zip", zip, null, None);
        var ended = await host.EndAsync();
        Assert.Equal(1, ended.ExitCode);
        var line = Assert.Single(ended.Error.Split('\n'), line => line.Contains("error", StringComparison.OrdinalIgnoreCase));
        Assert.StartsWith($"error: database '{database}' was deleted, moved or replaced", line, StringComparison.Ordinal);
        Assert.False(File.Exists(database));
    }

    private async Task<string> RefusalAsync(string storage, string database, params string[] arguments)
    {
        var line = (await RunAsync(storage, database, arguments)).FailedWithOneLine();
        Assert.DoesNotContain('@', line);
        return line;
    }

    private Task<HibpResult> RunAsync(string storage, string database, params string[] arguments) =>
        HibpInProcess.RunAsync(Folder.Path, With(storage, database), arguments);

    private Dictionary<string, string> With(string storage, string database) => new(Variables)
    {
        ["HIBP_STORAGE"] = storage,
        ["HIBP_DATABASE"] = Path.Combine(Folder.Path, database),
    };

    private string Zip() => Folder.Write("Whole.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 100))));
}
