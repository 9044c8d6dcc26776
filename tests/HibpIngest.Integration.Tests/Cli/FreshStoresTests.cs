using Azure.Storage.Blobs;
using Azure.Storage.Queues;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests that commands create nothing in stores that aren't set up, and don't mix the stores of two installations.</summary>
public sealed class FreshStoresTests : CommandTestBase
{
    [Theory]
    [InlineData("status", "status X", "breaches", "slices X", "subscribers list", "notify X --dry-run", "poison list")]
    // These write, but only to existing stores.
    [InlineData(
        "notify X", "breach hide X", "catalogue publish", "breach remove X --yes", "breach set X --title Y", "breach assign 1 Y",
        "hold X", "database restored", "requeue X --all", "resume 1", "purge 1", "poison purge breach-slices",
        "poison requeue breach-slices")]
    public Task Command_on_missing_stores_fails_and_creates_nothing(params string[] commands) =>
        Assert.AllAsync(commands, async command =>
        {
            var line = (await RunOnAsync(Missing, command.Split(' '))).FailedWith($"database {Missing} does not exist, or is empty");
            Assert.DoesNotContain('@', line);
            await AssertNothingMadeAsync();
        });

    [Fact]
    public async Task Status_watch_waits_for_missing_stores_and_creates_nothing()
    {
        await using var watch = await HibpProcess.StartAsync(
            Folder.Path, On(Missing), $"waiting: database {Missing} does not exist, or is empty", "status", "--watch");
        Assert.Equal(143, (await watch.TerminateAsync()).ExitCode);
        await AssertNothingMadeAsync();
    }

    [Fact]
    public async Task Lookup_requires_a_set_up_storage_account_but_no_database()
    {
        var line = (await RunOnAsync(Missing, "lookup", "user1@example.com")).FailedWith("is not set up yet");
        Assert.DoesNotContain('@', line);
        await AssertNothingMadeAsync();
        await HibpInProcess.SetUpAsync(Folder.Path, On("own.db"));
        (await RunOnAsync(Missing, "lookup", "user1@example.com")).Succeeded();
    }

    [Fact]
    public async Task Doctor_reports_missing_stores_and_creates_nothing()
    {
        var states = (await RunOnAsync(Missing, "doctor", "--json")).Succeeded().Json.List("checks")
            .ToDictionary(check => check.Text("check")!, check => check.Text("state"));
        Assert.Equal(
            ("missing", "missing", "missing", "missing", "ok"),
            (states["blobs"], states["queues"], states["tables"], states["database"], states["mails"]));
        await AssertNothingMadeAsync();
    }

    [Fact]
    public async Task Database_with_fresh_storage_is_refused_by_reading_commands()
    {
        (await RunOnAsync("half.db", "database", "upgrade")).Succeeded();
        (await RunOnAsync("half.db", "status")).FailedWith("not set up yet");
        (await RunOnAsync("half.db", "lookup", "user1@example.com")).FailedWith("not set up yet");
        // These need only the database.
        (await RunOnAsync("half.db", "breaches")).Succeeded();
        await AssertNothingMadeAsync();
    }

    [Fact]
    public async Task Drop_refuses_the_storage_account_of_another_installation()
    {
        var (own, another) = (Variables["HIBP_STORAGE"], await AzuriteFixture.NewAccountAsync());
        await HibpInProcess.SetUpAsync(Folder.Path, On("own.db"));
        Variables["HIBP_STORAGE"] = another;
        await HibpInProcess.SetUpAsync(Folder.Path, On("another.db"));
        var zip = Zip("Whole.zip", PipelineRig.Accounts(0, 100));

        (await RunOnAsync("own.db", "drop", zip)).FailedWith("do not belong together");
        // That storage account was filled from another database.
        (await RunOnAsync("fresh.db", "drop", zip)).FailedWith("belongs to another database");
        Assert.False(File.Exists(Path.Combine(Folder.Path, "fresh.db")));
        Assert.Empty(await ZipsAsync(another));

        Variables["HIBP_STORAGE"] = own;
        (await RunOnAsync("own.db", "drop", zip)).Succeeded();
        Assert.Single(await ZipsAsync(own));
        // Without a database setting there is nothing to compare: the file goes to the storage account.
        var storageAlone = new Dictionary<string, string> { ["HIBP_STORAGE"] = another };
        (await HibpInProcess.RunAsync(Folder.Path, storageAlone, "drop", zip)).Succeeded();
        Assert.Single(await ZipsAsync(another));
        Assert.False(Directory.Exists(Path.Combine(Folder.Path, ".hibp")));
    }

    private string Missing => Path.Combine(Folder.Path, "deep", "hibp.db");

    private async Task AssertNothingMadeAsync()
    {
        Assert.False(Directory.Exists(Path.Combine(Folder.Path, "deep")));
        Assert.False(Directory.Exists(Path.Combine(Folder.Path, "mail")));
        var storage = Variables["HIBP_STORAGE"];
        Assert.Empty(await new BlobServiceClient(storage).GetBlobContainersAsync().ToListAsync());
        Assert.Empty(await new QueueServiceClient(storage).GetQueuesAsync().ToListAsync());
        Assert.Empty(await RawTable.ListAsync(storage));
    }

    private static async Task<List<string>> ZipsAsync(string storage) =>
        await new BlobContainerClient(storage, "breach").GetBlobsAsync().Select(blob => blob.Name).ToListAsync();

    /// <summary>Returns the variables, changed to another database file.</summary>
    private Dictionary<string, string> On(string database)
    {
        Variables["HIBP_DATABASE"] = Path.Combine(Folder.Path, database);
        return Variables;
    }

    private Task<HibpResult> RunOnAsync(string database, params string[] arguments) =>
        HibpInProcess.RunAsync(Folder.Path, On(database), arguments);
}
