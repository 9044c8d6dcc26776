using Azure.Storage.Blobs;
using Azure.Storage.Queues;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>
/// Tests stores that aren't set up, or that belong to different installations: commands that read create nothing, and
/// commands that write don't mix stores.
/// </summary>
public sealed class FreshStoresTests : IAsyncLifetime
{
    private readonly TemporaryFolder _folder = new();
    private string _storage = "";

    public async Task InitializeAsync() => _storage = await AzuriteFixture.NewAccountAsync();

    public Task DisposeAsync()
    {
        _folder.Dispose();
        return Task.CompletedTask;
    }

    [Theory]
    [InlineData("status")]
    [InlineData("status X")]
    [InlineData("breaches")]
    [InlineData("slices X")]
    [InlineData("subscribers list")]
    [InlineData("notify X --dry-run")]
    [InlineData("poison list")]
    // These write, but only to existing stores.
    [InlineData("notify X")]
    [InlineData("breach hide X")]
    [InlineData("catalogue publish")]
    [InlineData("breach remove X --yes")]
    [InlineData("breach set X --title Y")]
    [InlineData("breach assign 1 Y")]
    [InlineData("hold X")]
    [InlineData("database restored")]
    [InlineData("requeue X --all")]
    [InlineData("resume 1")]
    [InlineData("purge 1")]
    [InlineData("poison purge breach-slices")]
    [InlineData("poison requeue breach-slices")]
    public async Task Command_on_missing_stores_fails_and_creates_nothing(string command)
    {
        var line = (await RunAsync(_storage, Missing, command.Split(' '))).FailedWithOneLine();
        Assert.StartsWith($"error: database {Missing} does not exist, or is empty", line, StringComparison.Ordinal);
        Assert.DoesNotContain('@', line);
        await AssertNothingMadeAsync();
    }

    [Fact]
    public async Task Status_watch_waits_for_missing_stores_and_creates_nothing()
    {
        await using var watch = await HibpProcess.StartAsync(
            _folder.Path, Variables(_storage, Missing), $"waiting: database {Missing} does not exist, or is empty", "status", "--watch");
        Assert.Equal(143, (await watch.TerminateAsync()).ExitCode);
        await AssertNothingMadeAsync();
    }

    [Fact]
    public async Task Lookup_requires_a_set_up_storage_account_but_no_database()
    {
        var line = (await RunAsync(_storage, Missing, "lookup", "user1@example.com")).FailedWithOneLine();
        Assert.Contains("is not set up yet", line, StringComparison.Ordinal);
        Assert.DoesNotContain('@', line);
        await AssertNothingMadeAsync();
        await SetUpAsync(_storage, "own.db");
        (await RunAsync(_storage, Missing, "lookup", "user1@example.com")).Succeeded();
    }

    [Fact]
    public async Task Doctor_reports_missing_stores_and_creates_nothing()
    {
        var states = (await RunAsync(_storage, Missing, "doctor", "--json")).Succeeded().Json.GetProperty("checks").EnumerateArray()
            .ToDictionary(check => check.GetProperty("check").GetString()!, check => check.GetProperty("state").GetString());
        Assert.Equal(
            ("missing", "missing", "missing", "missing", "ok"),
            (states["blobs"], states["queues"], states["tables"], states["database"], states["mails"]));
        await AssertNothingMadeAsync();

        await SetUpAsync(_storage, "own.db");
        states = (await RunAsync(_storage, "own.db", "doctor", "--json")).Succeeded().Json.GetProperty("checks").EnumerateArray()
            .ToDictionary(check => check.GetProperty("check").GetString()!, check => check.GetProperty("state").GetString());
        Assert.Equal(
            ("ok", "ok", "ok", "ok", "ok"), (states["blobs"], states["queues"], states["tables"], states["database"], states["identity"]));
        Assert.Equal(("ok", "ok"), (states["layouts"], states["journal"]));
    }

    [Fact]
    public async Task Database_with_fresh_storage_is_refused_by_reading_commands()
    {
        (await RunAsync(_storage, "half.db", "database", "upgrade")).Succeeded();
        Assert.Contains("not set up yet", (await RunAsync(_storage, "half.db", "status")).FailedWithOneLine(), StringComparison.Ordinal);
        Assert.Contains(
            "not set up yet", (await RunAsync(_storage, "half.db", "lookup", "user1@example.com"))
            .FailedWithOneLine(), StringComparison.Ordinal);
        // These need only the database.
        (await RunAsync(_storage, "half.db", "breaches")).Succeeded();
        await AssertNothingMadeAsync();
    }

    [Fact]
    public async Task Drop_refuses_the_storage_account_of_another_installation()
    {
        var another = await AzuriteFixture.NewAccountAsync();
        await SetUpAsync(_storage, "own.db");
        await SetUpAsync(another, "another.db");
        var zip = _folder.Write("Whole.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 100))));

        Assert.Contains(
            "do not belong together", (await RunAsync(another, "own.db", "drop", zip)).FailedWithOneLine(), StringComparison.Ordinal);
        // That storage account was filled from another database.
        Assert.Contains(
            "belongs to another database", (await RunAsync(another, "fresh.db", "drop", zip))
            .FailedWithOneLine(), StringComparison.Ordinal);
        Assert.False(File.Exists(Path.Combine(_folder.Path, "fresh.db")));
        Assert.Empty(await ZipsAsync(another));

        (await RunAsync(_storage, "own.db", "drop", zip)).Succeeded();
        Assert.Single(await ZipsAsync(_storage));
        // Without a database setting there is nothing to compare: the file goes to the storage account.
        var storageAlone = new Dictionary<string, string> { ["HIBP_STORAGE"] = another };
        (await HibpInProcess.RunAsync(_folder.Path, storageAlone, "drop", zip)).Succeeded();
        Assert.Single(await ZipsAsync(another));
        Assert.False(Directory.Exists(Path.Combine(_folder.Path, ".hibp")));
    }

    private string Missing => Path.Combine(_folder.Path, "deep", "hibp.db");

    private async Task AssertNothingMadeAsync()
    {
        Assert.False(Directory.Exists(Path.Combine(_folder.Path, "deep")));
        Assert.False(Directory.Exists(Path.Combine(_folder.Path, "mail")));
        Assert.Empty(await new BlobServiceClient(_storage).GetBlobContainersAsync().ToListAsync());
        Assert.Empty(await new QueueServiceClient(_storage).GetQueuesAsync().ToListAsync());
        Assert.Empty(await RawTable.ListAsync(_storage));
    }

    private static async Task<List<string>> ZipsAsync(string storage) =>
        await new BlobContainerClient(storage, "breach").GetBlobsAsync().Select(blob => blob.Name).ToListAsync();

    private Task SetUpAsync(string storage, string database) => HibpInProcess.SetUpAsync(_folder.Path, Variables(storage, database));

    private Task<HibpResult> RunAsync(string storage, string database, params string[] arguments) =>
        HibpInProcess.RunAsync(_folder.Path, Variables(storage, database), arguments);

    private Dictionary<string, string> Variables(string storage, string database) => new()
    {
        ["HIBP_STORAGE"] = storage,
        ["HIBP_DATABASE"] = Path.Combine(_folder.Path, database),
        ["HIBP_MAIL"] = "pickup:" + Path.Combine(_folder.Path, "mail"),
    };
}
