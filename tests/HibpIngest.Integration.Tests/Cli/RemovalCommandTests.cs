using HibpIngest.Journal.Manifest;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests the commands' reports on incomplete removals, on leftovers of removed loads, and on work that no host does.</summary>
public sealed class RemovalCommandTests : IAsyncLifetime
{
    private static readonly CancellationToken None = CancellationToken.None;
    private readonly TemporaryFolder _folder = new();
    private readonly Dictionary<string, string> _variables = [];
    private PipelineRig _rig = null!;

    public async Task InitializeAsync()
    {
        _rig = await PipelineRig.StartAsync(
            options => (options.Journal.Mode, options.Upsert.Ranges) = (JournalMode.On, RangesMode.On));
        await _rig.DropAsync("Adobe.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 10))));
        await _rig.RunToEndAsync();
        _variables["HIBP_STORAGE"] = _rig.Connection;
        _variables["HIBP_DATABASE"] = _rig.DatabaseFile;
    }

    public async Task DisposeAsync()
    {
        await _rig.DisposeAsync();
        _folder.Dispose();
    }

    [Fact]
    public async Task Interrupted_removal_is_reported_until_it_is_resumed()
    {
        Assert.Equal(0, (await JsonAsync("status")).GetProperty("removals").GetArrayLength());
        await _rig.Context.Database.BeginRemovalAsync("Adobe", None);
        Assert.Contains(
            "the removal of Adobe was interrupted: 0% of the accounts of 1 load removed; 'hibp breach remove Adobe' resumes it",
            (await RunAsync("status")).Succeeded().Output.ReplaceLineEndings(" "), StringComparison.Ordinal);
        var status = await JsonAsync("status");
        Assert.False(status.GetProperty("removals")[0].GetProperty("running").GetBoolean());
        Assert.True(status.GetProperty("loads")[0].GetProperty("removing").GetBoolean());
        Assert.Contains("nobody (removing: 0%)", (await RunAsync("breaches")).Succeeded().Output, StringComparison.Ordinal);
        var breach = (await JsonAsync("breaches")).GetProperty("breaches")[0];
        Assert.Equal(0, breach.GetProperty("removal").GetProperty("part").GetDouble());

        // Another process runs the removal.
        var now = TimeProvider.System.GetUtcNow();
        _rig.Context.Register.PutHeartbeat(
            new Heartbeat("ab", "web-1", 4711, "removal of Adobe", "1.0", now, now, []), None);
        Assert.True((await JsonAsync("status")).GetProperty("removals")[0].GetProperty("running").GetBoolean());
        await _rig.Context.Register.RemoveHeartbeatAsync("ab", None);

        (await RunAsync("breach", "remove", "Adobe", "--yes")).Succeeded();
        status = await JsonAsync("status");
        Assert.Equal(0, status.GetProperty("removals").GetArrayLength());
        Assert.Equal(0, status.GetProperty("hosts").GetArrayLength());
        Assert.Equal(0, (await JsonAsync("breaches")).GetProperty("breaches").GetArrayLength());
    }

    [Fact]
    public async Task Repair_deletes_the_leftovers_of_removed_loads_that_verify_reports()
    {
        // As after restoring a database from before the load.
        var entry = (await _rig.Context.Database.GetJournalEntryAsync(new(1), None))!;
        await _rig.Context.Database.BeginRemovalAsync("Adobe", None);
        await _rig.Context.Log.WriteAsync(
            JournalNames.Folder(entry) + JournalNames.Removed,
            RemovedDocument.Of(entry, (await _rig.Context.Database.GetIdentityAsync(None))!.Id).ToJson(), None);
        await _rig.Context.Database.FinishRemovalAsync(new(1), None);
        Assert.Equal(10, (await _rig.TableAsync()).Count);

        var verified = await RunAsync("log", "verify");
        Assert.Equal(1, verified.ExitCode);
        Assert.Contains("run: hibp journal repair", verified.Error, StringComparison.Ordinal);
        Assert.Equal(2, (await RunAsync("log", "repair")).ExitCode);
        Assert.Equal(10, (await _rig.TableAsync()).Count);
        var repaired = (await RunAsync("log", "repair", "--yes", "--json")).Succeeded().Json;
        Assert.Equal(1, repaired.GetProperty("loads").GetInt32());
        Assert.Equal(20, repaired.GetProperty("marks").GetInt32());
        Assert.Empty(await _rig.TableAsync());
        Assert.Empty(await _rig.RangesAsync());
        (await RunAsync("log", "verify")).Succeeded();
        Assert.Contains(
            "Nothing is left of removed loads.", (await RunAsync("log", "repair", "--yes")).Succeeded().Output,
            StringComparison.Ordinal);
    }

    [Fact]
    public async Task Queued_work_without_a_live_host_is_reported_by_status_and_doctor()
    {
        const string Warning = "breach-calls: 1 message waits for a host with the role 'call', and no live host has it";
        var now = TimeProvider.System.GetUtcNow();
        var host = new Heartbeat("ab", "web-1", 4711, "ingest, upsert, notify, journal, sweep, passwords, access", "1.0", now, now, []);
        _rig.Context.Register.PutHeartbeat(host, None);
        Assert.DoesNotContain("waits for a host", (await RunAsync("status")).Succeeded().Output, StringComparison.Ordinal);
        await _rig.Context.Queues.Get(QueueNames.Calls).SendAsync("{}", TimeSpan.Zero, None);
        Assert.Contains(Warning, (await RunAsync("status")).Succeeded().Output, StringComparison.Ordinal);
        Assert.False(Queue(await JsonAsync("status")).GetProperty("hasHost").GetBoolean());
        var roles = (await JsonAsync("doctor")).GetProperty("checks").EnumerateArray()
            .Single(check => check.GetProperty("check").GetString() == "roles");
        Assert.Equal("missing", roles.GetProperty("state").GetString());
        Assert.StartsWith(Warning, roles.GetProperty("found").GetString(), StringComparison.Ordinal);
        _rig.Context.Register.PutHeartbeat(
            host with { Host = "cd", Roles = "call", SeenAt = TimeProvider.System.GetUtcNow() }, None);
        Assert.True(Queue(await JsonAsync("status")).GetProperty("hasHost").GetBoolean());

        static JsonElement Queue(JsonElement status) => status.GetProperty("queues").EnumerateArray()
            .Single(queue => queue.GetProperty("name").GetString() == QueueNames.Calls);
    }

    private Task<HibpResult> RunAsync(params string[] arguments) => HibpInProcess.RunAsync(_folder.Path, _variables, arguments);

    private async Task<JsonElement> JsonAsync(string command) => (await RunAsync(command, "--json")).Json;
}
