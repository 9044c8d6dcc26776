using HibpIngest.Integration.Tests.Cli;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Removal;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests an ingest under a host's limits: limited invocation time, one ingest per process, duplicate events.</summary>
public sealed class InvocationTests
{
    private static readonly TimeSpan Limit = TimeSpan.FromMinutes(9.5);

    private static readonly Action<TestOptions> Small = options => (options.Ingest.BatchRows, options.Ingest.SliceRows) = (100, 50);

    private readonly TestClock _time = TestClock.WithTimersByHand();
    private readonly byte[] _zip = PipelineRig.Zip(("a.csv", PipelineRig.Accounts(0, 1_000)));

    [Fact]
    public async Task Rereading_beyond_the_plan_limit_fails_the_load_and_names_the_resume_command()
    {
        await using var rig = await PipelineRig.StartAsync(
            Small + (options => (options.Ingest.TimeBudget, options.Ingest.PlanLimit) = (TimeSpan.FromTicks(1), Limit)), _time);
        await rig.DropAsync("Big.zip", _zip);
        var queues = new ObservedQueues(rig.Context.Queues)
        {
            Before = (queue, _) => _time.Advance(queue == QueueNames.Slices ? TimeSpan.FromSeconds(1) : TimeSpan.Zero),
        };
        var breaches = (rig.Context with { Queues = queues }).WithBlobs(() => AdvanceAsync(TimeSpan.FromMinutes(9))).Get<DroppedBreaches>();
        await breaches.IngestAsync("Big.zip", None);
        // Within the limit, so it has copied as much as its budget allows.
        Assert.Equal(LoadState.Ingesting, (await rig.LoadAsync(1)).State);
        Assert.InRange((await rig.LoadAsync(1)).LastPosition, 100, 900);

        var before = (await rig.LoadAsync(1)).LastPosition;
        await rig.Context.WithBlobs(() => AdvanceAsync(TimeSpan.FromMinutes(10))).DispatchAsync(new IngestMessage { Load = 1 });
        var failed = await rig.LoadAsync(1);
        Assert.Equal((LoadState.Failed, before), (failed.State, failed.LastPosition));
        Assert.Contains("00:09:30", failed.Error, StringComparison.Ordinal);
        Assert.Contains("plan", failed.Error, StringComparison.Ordinal);
        Assert.Contains("hibp load resume 1", failed.Error, StringComparison.Ordinal);

        rig.Options.Ingest.PlanLimit = TimeSpan.Zero;
        await rig.Context.Get<ResumeLoad>().RunAsync(new(1), restart: false, null, None);
        await rig.RunToEndAsync();
        Assert.Equal((LoadState.Done, 1_000L), ((await rig.LoadAsync(1)).State, (await rig.LoadAsync(1)).Accounts));
        Assert.Equal(PipelineRig.Expected(0, 1_000).Order(), (await rig.TableAsync()).Keys.Order());
    }

    [Fact]
    public async Task Ingest_continues_in_a_new_message_when_a_commit_exceeds_the_plan_limit()
    {
        await using var rig = await PipelineRig.StartAsync(Small + (options => options.Ingest.PlanLimit = Limit), _time);
        await rig.DropAsync("Big.zip", _zip);
        var handedOver = 0;
        var queues = new ObservedQueues(rig.Context.Queues)
        {
            Before = (queue, operation) =>
            {
                if ((queue, operation) == (QueueNames.Slices, "send"))
                    _time.Advance(Limit);
                if ((queue, operation) == (QueueNames.Ingest, "send"))
                    handedOver++;
            },
        };
        await PipelineRig.RunToEndAsync(rig.Context with { Queues = queues });
        Assert.True(handedOver > 2, $"{handedOver} messages");
        Assert.Equal(
            (LoadState.Done, 1_000L, 10),
            ((await rig.LoadAsync(1)).State, (await rig.LoadAsync(1)).Accounts, (await rig.LoadAsync(1)).Batches));
        Assert.Equal(PipelineRig.Expected(0, 1_000).Order(), (await rig.TableAsync()).Keys.Order());
    }

    [Fact]
    public async Task Second_ingest_in_a_process_waits_and_is_then_deferred()
    {
        await using var rig = await PipelineRig.StartAsync(Small, _time);
        await rig.DropAsync("First.zip", _zip);
        await rig.DropAsync("Second.zip", _zip);
        var opened = 0;
        var open = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var atWork = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var breaches = rig.Context.WithBlobs(() =>
        {
            atWork.TrySetResult();
            return ++opened == 1 ? open.Task : Task.CompletedTask;
        }).Get<DroppedBreaches>();
        var first = breaches.IngestAsync("First.zip", None);
        await Task.WhenAny(first, atWork.Task);
        using var stop = new CancellationTokenSource();
        var stopped = breaches.IngestAsync("Second.zip", stop.Token);
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => stopped);

        var second = breaches.IngestAsync("Second.zip", None);
        await _time.AdvanceUntilAsync(second, TimeSpan.FromSeconds(10)).WaitAsync(TimeSpan.FromMinutes(2));
        await second;
        Assert.Equal(1, opened);
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Ingest]);
        Assert.Empty(await rig.Context.Queues.Get(QueueNames.Ingest).PeekAsync(32, None)); // delayed

        open.SetResult();
        await first;
        await breaches.IngestAsync("Second.zip", None);
        Assert.Equal(2, opened);
        Assert.All(await rig.LoadsAsync(), load => Assert.Equal(1_000, load.LastPosition));
    }

    [Fact]
    public async Task Blob_event_starts_one_load_per_version_in_any_folder()
    {
        await using var rig = await PipelineRig.StartAsync(Small, _time);
        var breaches = rig.Context.Get<DroppedBreaches>();
        await rig.DropAsync("a/b/X.zip", _zip);
        for (var i = 0; i < 3; i++)
            await breaches.IngestAsync("a/b/X.zip", None);
        await rig.RunToEndAsync();
        Assert.Equal((LoadState.Done, "X"), ((await rig.LoadAsync(1)).State, (await rig.LoadAsync(1)).Breach));
        // After the removal, a late event doesn't load it again.
        await rig.Context.Get<RemoveBreach>().RunAsync("X", null, None);
        await breaches.IngestAsync("a/b/X.zip", None);
        Assert.Empty(await rig.LoadsAsync());
        // A new version fires again.
        await rig.DropAsync("a/b/X.zip", _zip);
        await breaches.IngestAsync("a/b/X.zip", None);
        Assert.Single(await rig.LoadsAsync());
        await breaches.IngestAsync("a/b/Gone.zip", None);
        Assert.Single(await rig.LoadsAsync());
    }

    private Task AdvanceAsync(TimeSpan by)
    {
        _time.Advance(by);
        return Task.CompletedTask;
    }
}
