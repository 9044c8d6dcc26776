using HibpIngest.Journal.Manifest;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests the commands' reports on incomplete removals, on leftovers of removed loads, and on work that no host does.</summary>
public sealed class RemovalCommandTests : IAsyncLifetime
{
    private PipelineRig _rig = null!;

    public async Task InitializeAsync()
    {
        _rig = await PipelineRig.StartAsync(
            options => (options.Journal.Mode, options.Upsert.Ranges) = (JournalMode.On, RangesMode.On));
        await _rig.DropAsync("Adobe.zip", PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 10))));
        await _rig.RunToEndAsync();
    }

    public async Task DisposeAsync() => await _rig.DisposeAsync();

    [Fact]
    public async Task Interrupted_removal_is_reported_until_it_is_resumed()
    {
        Assert.Empty((await JsonAsync("status")).List("removals"));
        await _rig.Context.Database.BeginRemovalAsync("Adobe", None);
        var status = await JsonAsync("status");
        Assert.False(status.List("removals")[0].Flag("running"));
        Assert.True(status.List("loads")[0].Flag("removing"));
        var breach = (await JsonAsync("breaches")).List("breaches")[0];
        Assert.Equal(0, breach.GetProperty("removal").GetProperty("part").GetDouble());

        // Another process runs the removal.
        var now = TimeProvider.System.GetUtcNow();
        _rig.Context.Register.PutHeartbeat(
            new Heartbeat("ab", "web-1", 4711, "removal of Adobe", "1.0", now, now, []), None);
        Assert.True((await JsonAsync("status")).List("removals")[0].Flag("running"));
        await _rig.Context.Register.RemoveHeartbeatAsync("ab", None);

        (await _rig.HibpAsync("breach", "remove", "Adobe", "--yes")).Succeeded();
        status = await JsonAsync("status");
        Assert.Empty(status.List("removals"));
        Assert.Empty(status.List("hosts"));
        Assert.Empty((await JsonAsync("breaches")).List("breaches"));
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

        var verified = await _rig.HibpAsync("log", "verify");
        Assert.Equal(1, verified.ExitCode);
        Assert.Contains("run: hibp journal repair", verified.Error, StringComparison.Ordinal);
        Assert.Equal(2, (await _rig.HibpAsync("log", "repair")).ExitCode);
        Assert.Equal(10, (await _rig.TableAsync()).Count);
        var repaired = (await _rig.HibpAsync("log", "repair", "--yes", "--json")).Succeeded().Json;
        Assert.Equal((1, 20), (repaired.Number("loads"), repaired.Number("marks")));
        Assert.Empty(await _rig.TableAsync());
        Assert.Empty(await _rig.RangesAsync());
        (await _rig.HibpAsync("log", "verify")).Succeeded();
        (await _rig.HibpAsync("log", "repair", "--yes")).Printed("Nothing is left of removed loads.");
    }

    [Fact]
    public async Task Queued_work_without_a_live_host_is_reported_by_status_and_doctor()
    {
        const string Warning = "breach-calls: 1 message waits for a host with the role 'call', and no live host has it";
        var now = TimeProvider.System.GetUtcNow();
        var host = new Heartbeat("ab", "web-1", 4711, "ingest, upsert, notify, journal, sweep, passwords, access", "1.0", now, now, []);
        _rig.Context.Register.PutHeartbeat(host, None);
        Assert.DoesNotContain("waits for a host", (await _rig.HibpAsync("status")).Succeeded().Output, StringComparison.Ordinal);
        await _rig.Context.Queues.Get(QueueNames.Calls).SendAsync("{}", TimeSpan.Zero, None);
        (await _rig.HibpAsync("status")).Printed(Warning);
        Assert.False(await HasHostAsync());
        var roles = (await JsonAsync("doctor")).List("checks").Single(check => check.Text("check") == "roles");
        Assert.Equal("missing", roles.Text("state"));
        Assert.StartsWith(Warning, roles.Text("found"), StringComparison.Ordinal);
        _rig.Context.Register.PutHeartbeat(
            host with { Host = "cd", Roles = "call", SeenAt = TimeProvider.System.GetUtcNow() }, None);
        Assert.True(await HasHostAsync());

        async Task<bool> HasHostAsync() =>
            (await JsonAsync("status")).List("queues").Single(queue => queue.Text("name") == QueueNames.Calls).Flag("hasHost");
    }

    private async Task<JsonElement> JsonAsync(string command) => (await _rig.HibpAsync(command, "--json")).Json;
}
