using HibpIngest.Hosting.Messages;
using HibpIngest.Integration.Tests.Cli;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Sweeping;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests a load's lease: its owner, what happens when the owner crashes, and what a former owner may no longer do.</summary>
public sealed class OwnershipTests
{
    private static readonly Action<TestOptions> Small = options => (options.Ingest.BatchRows, options.Ingest.SliceRows) = (200, 100);

    private readonly TestClock _time = new();
    private readonly byte[] _zip = PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 300)));

    [Fact]
    public async Task Ingest_message_is_deferred_until_the_current_lease_expires()
    {
        await using var rig = await PipelineRig.StartAsync(Small, _time);
        var version = await rig.DropAsync("X.zip", _zip);
        var load = await StartAsync(rig, version);
        await ClaimAsync(rig, load, "dead");

        // The blob's event, as the Functions host redelivers it after the crash.
        var (queues, sent) = Observe(rig);
        await (rig.Context with { Queues = queues }).Get<DroppedBreaches>().IngestAsync("X.zip", None);
        var again = Assert.Single(sent);
        Assert.Equal((QueueNames.Ingest, load), (again.Queue, WorkMessage.Parse<IngestMessage>(again.Body).Load));
        Assert.InRange(
            again.Delay, rig.Options.Ingest.LoadLease - TimeSpan.FromSeconds(20), rig.Options.Ingest.LoadLease + TimeSpan.FromSeconds(5));

        // And the message itself: the load is idle for no longer than that.
        _time.Advance(again.Delay);
        await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Ingest, again.Body, None);
        Assert.Equal(LoadState.Upserting, (await rig.LoadAsync(load)).State);
    }

    [Fact]
    public async Task Sweep_resends_an_abandoned_load_while_other_messages_wait_in_its_queue()
    {
        await using var rig = await PipelineRig.StartAsync(Small, _time);
        var load = await StartAsync(rig, await rig.DropAsync("X.zip", _zip));
        await ClaimAsync(rig, load, "dead");
        // Another load's message, hidden for an hour.
        await rig.Context.Queues.Get(QueueNames.Ingest).SendAsync(
            new IngestMessage { Load = 77 }.ToJson(), TimeSpan.FromHours(1), None);
        var (queues, sent) = Observe(rig);
        var sweep = (rig.Context with { Queues = queues }).Get<Sweep>();

        await sweep.RunAsync(None);
        Assert.Empty(sent);
        _time.Advance(rig.Options.Ingest.LoadLease);
        await sweep.RunAsync(None);
        Assert.Equal(load, WorkMessage.Parse<IngestMessage>(Assert.Single(sent).Body).Load);
        // Not every minute: the message may wait until another load's ingest ends.
        _time.Advance(rig.Options.Sweep.SweepStaleAge - TimeSpan.FromMinutes(1));
        await sweep.RunAsync(None);
        Assert.Single(sent);
        _time.Advance(TimeSpan.FromMinutes(1));
        await sweep.RunAsync(None);
        Assert.Equal(2, sent.Count);
    }

    [Fact]
    public async Task Load_that_crashes_its_process_each_time_fails_and_can_be_resumed()
    {
        await using var rig = await PipelineRig.StartAsync(Small, _time);
        var load = await StartAsync(rig, await rig.DropAsync("X.zip", _zip));
        for (var attempt = 1; attempt <= rig.Options.Retry.MaxTries; attempt++)
        {
            await ClaimAsync(rig, load, $"dead {attempt}");
            _time.Advance(rig.Options.Ingest.LoadLease);
        }
        await rig.Context.DispatchAsync(new IngestMessage { Load = load });
        var failed = await rig.LoadAsync(load);
        Assert.Equal(LoadState.Failed, failed.State);
        Assert.Contains("5 times", failed.Error, StringComparison.Ordinal);
        Assert.Contains($"hibp load resume {load}", failed.Error, StringComparison.Ordinal);

        await rig.Context.Get<ResumeLoad>().RunAsync(new(load), restart: false, null, None);
        await rig.RunToEndAsync();
        Assert.Equal((LoadState.Done, 300L), ((await rig.LoadAsync(load)).State, (await rig.LoadAsync(load)).Accounts));
    }

    [Fact]
    public async Task Attempts_that_made_progress_or_released_the_load_are_not_counted()
    {
        await using var rig = await PipelineRig.StartAsync(Small + (options => options.Ingest.TimeBudget = TimeSpan.FromTicks(1)), _time);
        await rig.LoadAccountsAsync("X.zip", 0, 3_000);
        Assert.Equal((LoadState.Done, 15), ((await rig.LoadAsync(1)).State, (await rig.LoadAsync(1)).Batches));

        var load = await StartAsync(rig, await rig.DropAsync("Y.zip", _zip));
        var down = rig.Context.WithBlobs(() => throw new UnavailableException("the blobs are down"));
        for (var attempt = 0; attempt < 2 * rig.Options.Retry.MaxTries; attempt++)
            await down.DispatchAsync(new IngestMessage { Load = load });
        Assert.Equal((LoadState.Ingesting, 0), ((await rig.LoadAsync(load)).State, (await rig.LoadAsync(load)).Attempts));
    }

    [Fact]
    public async Task Former_owner_does_not_fail_the_new_owners_load()
    {
        await using var rig = await PipelineRig.StartAsync(Small, _time);
        var load = await StartAsync(rig, await rig.DropAsync("X.zip", _zip));
        // The first worker hits a defect, but stalls before reporting it: its lease expires, and another worker takes the load.
        var loser = rig.Context.WithBlobs(async () =>
        {
            _time.Advance(rig.Options.Ingest.LoadLease);
            await ClaimAsync(rig, load, "winner");
            throw new InvalidOperationException("a defect of the loser's");
        });
        await loser.DispatchAsync(new IngestMessage { Load = load });
        var found = await rig.LoadAsync(load);
        Assert.Equal((LoadState.Ingesting, (string?)null), (found.State, found.Error));
        Assert.True(await rig.Context.Database.RenewLoadAsync(new(load), "winner", rig.Options.Ingest.LoadLease, None));
    }

    [Fact]
    public async Task Refused_renewal_does_not_block_the_next_ingest()
    {
        await using var rig = await PipelineRig.StartAsync(Small + (options => options.Ingest.LoadLease = TimeSpan.FromSeconds(1)), _time);
        var first = await StartAsync(rig, await rig.DropAsync("X.zip", _zip));
        var second = await StartAsync(rig, await rig.DropAsync("Y.zip", _zip));
        var refused = new TaskCompletionSource();
        var ports = new HookedPorts((_, method) =>
        {
            if (method != nameof(ILoads.RenewLoadAsync))
                return Task.CompletedTask;
            refused.TrySetResult();
            throw new StoreRefusedException("no permission just now");
        });
        var context = ports.Wrap(rig.Context).WithBlobs(async () =>
        {
            await refused.Task;
            throw new InvalidOperationException("a defect");
        });
        var dispatcher = context.Get<MessageDispatcher>();
        foreach (var load in (long[])[first, second])
        {
            await dispatcher.DispatchAsync(QueueNames.Ingest, new IngestMessage { Load = load }.ToJson(), None)
                .WaitAsync(TimeSpan.FromMinutes(1));
            Assert.Equal(LoadState.Failed, (await rig.LoadAsync(load)).State);
        }
    }

    [Fact]
    public async Task Failure_that_cannot_be_recorded_defers_the_message()
    {
        await using var rig = await PipelineRig.StartAsync(Small, _time);
        var load = await StartAsync(rig, await rig.DropAsync("X.zip", _zip));
        var ports = new HookedPorts((_, method) => method == nameof(ILoads.FailLoadAsync)
            ? throw new UnavailableException("the database is down") : Task.CompletedTask);
        var (queues, sent) = Observe(rig);
        var context = (ports.Wrap(rig.Context) with { Queues = queues }).WithBlobs(() => throw new InvalidOperationException("a defect"));
        await context.DispatchAsync(new IngestMessage { Load = load });
        var again = WorkMessage.Parse<IngestMessage>(Assert.Single(sent).Body);
        Assert.Equal((load, 1), (again.Load, again.Deferrals));
        var found = await rig.LoadAsync(load);
        Assert.Equal((LoadState.Ingesting, null), (found.State, found.LeaseExpiresAt));
    }

    [Fact]
    public async Task Recorded_dedupe_cap_beyond_the_memory_fails_with_the_restart_command()
    {
        await using var rig = await PipelineRig.StartAsync(
            Small + (options => options.Ingest.DedupeCap = DedupeSet.MaxThatFit() + 1), _time);
        await rig.DropAsync("X.zip", _zip);
        await rig.RunToEndAsync();
        var load = Assert.Single(await rig.LoadsAsync());
        Assert.Equal((LoadState.Failed, 0L), (load.State, load.LastPosition));
        Assert.Contains("memory", load.Error, StringComparison.Ordinal);
        Assert.Contains($"hibp load resume {load.Id} --restart", load.Error, StringComparison.Ordinal);

        rig.Options.Ingest.DedupeCap = 1_000;
        var restarted = await rig.Context.Get<ResumeLoad>().RunAsync(load.Id, restart: true, null, None);
        await rig.RunToEndAsync();
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(restarted.Id.Value)).State);
    }

    [Fact]
    public void Lease_owners_contain_no_host_name_and_are_unique()
    {
        Assert.DoesNotContain(Environment.MachineName, LoadLeases.NewOwner(), StringComparison.OrdinalIgnoreCase);
        Assert.NotEqual(LoadLeases.NewOwner(), LoadLeases.NewOwner());
    }

    [Theory]
    [InlineData("john.doe@example.com.zip")]
    [InlineData("john.doe%40example.com.zip")]
    [InlineData("john.doe@example.com/dump.zip")]
    public async Task Blob_named_by_an_address_is_refused_and_appears_in_no_message(string name)
    {
        await using var rig = await PipelineRig.StartAsync(Small, _time);
        await rig.DropAsync(name, _zip);
        var (queues, sent) = Observe(rig);
        var context = rig.Context with { Queues = queues };
        Assert.Equal(0, await context.Get<BlobScan>().RunAsync(TimeSpan.Zero, None));
        await AssertRefusedAsync(load: 1);
        Assert.Equal(0, await context.Get<BlobScan>().RunAsync(TimeSpan.Zero, None));

        // Its event comes while the database is down: the host redelivers it, and no message is sent.
        await rig.DropAsync(name, PipelineRig.Zip(("b.csv", PipelineRig.Accounts(0, 10))));
        var down = new HookedPorts((_, _) => throw new UnavailableException("the database is down")).Wrap(context);
        await Assert.ThrowsAsync<UnavailableException>(() => down.Get<DroppedBreaches>().IngestAsync(name, None));
        await context.Get<DroppedBreaches>().IngestAsync(name, None);
        await AssertRefusedAsync(load: 2);
        Assert.Empty(sent);

        // Resuming the load doesn't load it either.
        await rig.Context.Get<ResumeLoad>().RunAsync(new(2), restart: false, null, None);
        await rig.RunToEndAsync();
        await AssertRefusedAsync(load: 2);
        Assert.Empty(await rig.TableAsync());

        async Task AssertRefusedAsync(int load)
        {
            var failed = await rig.LoadAsync(load);
            Assert.Equal((LoadState.Failed, "unnamed"), (failed.State, failed.Breach));
            Assert.Contains("rename the file or the folder", failed.Error, StringComparison.Ordinal);
            Assert.DoesNotContain("example", failed.Error, StringComparison.Ordinal);
            Assert.Equal(0, failed.LastPosition);
        }
    }

    [Fact]
    public async Task Superseded_load_stops_its_slices_and_cannot_be_resumed()
    {
        await using var rig = await PipelineRig.StartAsync(Small + (options => options.Ingest.TimeBudget = TimeSpan.FromTicks(1)), _time);
        await rig.DropAccountsAsync("X.zip", 0, 500);
        await rig.Context.Get<DroppedBreaches>().IngestAsync("X.zip", None);
        Assert.Equal(200, (await rig.LoadAsync(1)).LastPosition);
        await rig.LoadAccountsAsync("X.zip", 1_000, 100);

        var loads = await rig.LoadsAsync();
        Assert.Equal([LoadState.Failed, LoadState.Done], loads.Select(load => load.State));
        Assert.True(loads[0].Superseded);
        Assert.Contains("replaced", loads[0].Error, StringComparison.Ordinal);
        await Assert.ThrowsAsync<NotPossibleException>(
            () => rig.Context.Get<ResumeLoad>().RunAsync(new(1), restart: false, null, None));
        Assert.Null(await rig.Context.Database.BeginSliceAsync(new(1), 1, maxTries: 5, None));
        Assert.Empty(await rig.FindAsync("user0@example.com"));
        Assert.Single(await rig.FindAsync("user1002@example.com"));
    }

    private static async Task<long> StartAsync(PipelineRig rig, BlobVersion version) =>
        (await rig.Context.Get<LoadStart>().RunAsync(version, heldBecause: null, None)).Id.Value;

    private static async Task ClaimAsync(PipelineRig rig, long load, string owner) =>
        Assert.True(await rig.Context.Database.TryClaimLoadAsync(new(load), owner, rig.Options.Ingest.LoadLease, None));

    /// <summary>Returns the real queues, and a list of what is sent to them from now on.</summary>
    private static (IMessageQueues Queues, List<(string Queue, string Body, TimeSpan Delay)> Sent) Observe(PipelineRig rig)
    {
        var sent = new List<(string, string, TimeSpan)>();
        var queues = new ObservedQueues(rig.Context.Queues)
        {
            OnSend = (queue, body, delay) =>
            {
                lock (sent)
                    sent.Add((queue, body, delay));
            },
        };
        return (queues, sent);
    }
}
