using HibpIngest.Hosting.Messages;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Recovery;

namespace HibpIngest.Integration.Tests.EndToEnd;

/// <summary>Tests that work lost between two steps is repeated, and that failures are visible and repairable.</summary>
public sealed class SweepTests
{
    private static readonly Action<TestOptions> Small = options => (options.Ingest.BatchRows, options.Ingest.SliceRows) = (200, 100);

    [Theory]
    [InlineData(QueueNames.Slices)]
    [InlineData(QueueNames.Match)]
    [InlineData(QueueNames.Mail)]
    public async Task Lost_messages_are_sent_again(string lost)
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(Small, clock);
        await rig.ImportAsync(("user0@example.com", null));
        await rig.IngestAccountsAsync("X.zip", 0, 300);
        foreach (var name in QueueNames.All.TakeWhile(name => name != lost))
            await rig.Context.HandleMessagesAsync(name);
        Assert.NotEqual(0, (await rig.DepthsAsync())[lost]);
        await rig.Context.Queues.Get(lost).ClearAsync(None);
        await rig.RunToEndAsync();
        Assert.NotEqual(LoadState.Done, (await rig.LoadAsync(1)).State);

        clock.Advance(TimeSpan.FromHours(1));
        await rig.Context.SweepToEndAsync();
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(1)).State);
        Assert.Equal(300, (await rig.TableAsync()).Count);
        Assert.Single(rig.Mails());
    }

    [Fact]
    public async Task Process_that_crashes_during_a_sweep_delays_the_next_sweep_by_a_minute()
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(Small, clock);
        await rig.IngestAccountsAsync("X.zip", 0, 300);
        var slices = rig.Context.Queues.Get(QueueNames.Slices);
        await slices.ClearAsync(None);
        clock.Advance(TimeSpan.FromHours(1));
        // A crashed process doesn't release its lock.
        var dying = new HookedPorts((_, what) => what is nameof(ISlices.ListStaleSlicesAsync) or nameof(IDatabaseState.UnlockAsync)
            ? throw new UnavailableException("gone") : Task.CompletedTask).Wrap(rig.OpenContext());
        await Assert.ThrowsAsync<UnavailableException>(dying.SweepAsync);

        await rig.OpenContext().SweepAsync();
        Assert.Equal(0, (await slices.GetDepthAsync(None)).Messages);
        clock.Advance(TimeSpan.FromSeconds(61));
        await rig.OpenContext().SweepAsync();
        Assert.Equal(3, (await slices.GetDepthAsync(None)).Messages);
    }

    [Fact]
    public async Task Sweep_resends_no_message_that_may_still_arrive()
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(Small, clock);
        await rig.IngestAccountsAsync("X.zip", 0, 300);
        var before = await rig.DepthsAsync();
        Assert.Equal(3, before[QueueNames.Slices]);
        await rig.Context.SweepAsync();
        clock.Advance(rig.Options.Sweep.SweepStaleAge - TimeSpan.FromMinutes(1)); // old, but the messages may still be hidden
        await rig.Context.SweepAsync();
        Assert.Equal(before, await rig.DepthsAsync());
        clock.Advance(TimeSpan.FromMinutes(1));
        await rig.Context.SweepAsync();
        Assert.Equal(6, (await rig.DepthsAsync())[QueueNames.Slices]);
    }

    [Fact]
    public async Task Sweep_makes_no_database_call_without_open_loads_and_starts_zips_without_a_load()
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(Small, clock);
        await rig.LoadAccountsAsync("X.zip", 0, 300);
        await rig.Context.SweepAsync(); // clears the mark of the finished load

        var sleeping = rig.Context with { Database = new CrashPoint(1, afterwards: false).Wrap(rig.Context).Database };
        await sleeping.SweepAsync();

        await rig.DropAccountsAsync("Y.zip", 0, 10);
        await sleeping.SweepAsync();
        Assert.Equal(0, (await rig.DepthsAsync())[QueueNames.Ingest]); // its event may be on the way
        clock.Advance(TimeSpan.FromMinutes(3));
        await sleeping.SweepAsync();
        await sleeping.SweepAsync();
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Ingest]);
    }

    [Fact]
    public async Task Sweep_does_not_resend_a_deferred_message()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAccountsAsync("X.zip", 0, 100);
        var down = rig.Context.WithBlobs(() => throw new UnavailableException("the blobs are down"));
        await down.Get<DroppedBreaches>().IngestAsync("X.zip", None);
        Assert.Equal(LoadState.Ingesting, (await rig.LoadAsync(1)).State);
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Ingest]);

        await rig.Context.SweepAsync();
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Ingest]);
    }

    [Theory]
    [InlineData(0, 30)]
    [InlineData(1, 60)]
    [InlineData(3, 240)]
    [InlineData(4, 300)]
    [InlineData(int.MaxValue, 300)]
    public void Retry_delay_grows_from_30_seconds_to_10_minutes_with_random_jitter(int deferrals, int seconds)
    {
        var delays = Enumerable.Range(0, 100).Select(_ => StageRunner.Delay(deferrals)).ToList();
        Assert.All(delays, delay => Assert.InRange(delay.TotalSeconds, seconds, 2 * seconds));
        Assert.True(delays.Distinct().Count() > 50, "deferred messages come back together");
    }

    [Fact]
    public async Task Slice_that_uses_up_its_attempts_fails_the_load_and_resending_it_repairs_the_load()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync(("user0@example.com", null));
        await rig.IngestAccountsAsync("X.zip", 0, 300);
        var queue = rig.Context.Queues.Get(QueueNames.Slices);
        var table = PortProxy<IAccountTable>.Create(
            rig.Context.Table, _ => throw new InvalidOperationException("somebody@example.com"));
        var broken = rig.Context.WithTable(table).Get<MessageDispatcher>();
        var messages = await queue.ReceiveAsync(32, TimeSpan.FromMinutes(10), None);
        var second = messages.Single(message => WorkMessage.Parse<SliceMessage>(message.Body).Slice == 2);
        for (var attempt = 1; attempt <= 5; attempt++)
        {
            Assert.Equal(LoadState.Upserting, (await rig.LoadAsync(1)).State);
            await Assert.ThrowsAsync<InvalidOperationException>(() => broken.DispatchAsync(QueueNames.Slices, second.Body, None));
        }
        var load = await rig.LoadAsync(1);
        Assert.Equal(LoadState.Failed, load.State);
        Assert.Contains("slice 2", load.Error, StringComparison.Ordinal);
        Assert.DoesNotContain('@', load.Error!);
        foreach (var message in messages)
        {
            // The other slices of a failed load continue; the failed slice's message is where the host put it.
            if (message != second)
                await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Slices, message.Body, None);
            await queue.DeleteAsync(message, None);
        }
        Assert.Equal(LoadState.Failed, (await rig.LoadAsync(1)).State);
        Assert.Equal(new SliceCounts(0, 0, 2, 1), (await rig.LoadAsync(1)).Slices);

        // By re-sending its poisoned message by hand.
        await queue.SendAsync(second.Body, TimeSpan.Zero, None);
        await rig.RunToEndAsync();
        load = await rig.LoadAsync(1);
        Assert.Equal((LoadState.Done, (string?)null), (load.State, load.Error));
        Assert.Equal(300, (await rig.TableAsync()).Count);
        Assert.Single(rig.Mails());
    }

    [Fact]
    public async Task Requeue_moves_all_poison_messages_back_to_their_queue()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        var poison = rig.Context.Queues.Get(QueueNames.Slices + QueueNames.PoisonSuffix);
        for (var slice = 1; slice <= 40; slice++)
            await poison.SendAsync(new SliceMessage { Load = 1, Slice = slice }.ToJson(), TimeSpan.Zero, None);
        Assert.Equal(40, await rig.Context.Get<PoisonQueue>().RequeueAsync(QueueNames.Slices, None));
        Assert.Equal(
            (40, 0),
            ((await rig.DepthsAsync())[QueueNames.Slices], (await rig.DepthsAsync())[QueueNames.Slices + QueueNames.PoisonSuffix]));
        await rig.RunToEndAsync(); // no such load: acknowledged
        Assert.Equal(0, (await rig.DepthsAsync())[QueueNames.Slices]);
    }

    [Fact]
    public async Task A_purged_load_refuses_requeueing_and_acknowledges_late_messages()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.LoadAccountsAsync("X.zip", 0, 300);
        var requeue = rig.Context.Get<RequeueSlices>();
        Assert.Equal(300, await rig.Context.Get<PurgeLoad>().RunAsync(new(1), withoutJournal: true, null, None));

        await Refusal.AssertAsync<NotPossibleException>(
            "drop the archive again", () => requeue.RunAsync("X", null, failedOnly: false, None));
        await Assert.ThrowsAsync<NotPossibleException>(() => requeue.RunAsync("X", 1, failedOnly: false, None));
        await rig.Context.DispatchAsync(new SliceMessage { Load = 1, Slice = 1 });
        Assert.Single(await rig.FindAsync("user0@example.com"));
        Assert.Empty(await rig.Context.Log.ListAsync("", None).ToListAsync());
        await rig.Context.SweepAsync();
        Assert.Empty(await rig.Context.Register.ListOpenAsync(None));
    }

    [Fact]
    public async Task Concurrent_deliveries_of_a_mail_message_send_each_mail_once()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync(("user0@example.com", null));
        await rig.LoadAccountsAsync("X.zip", 0, 10, """{"notify":"hold"}""");
        Assert.True(await rig.Context.Database.ReleaseLoadNotificationsAsync(new(1), None));
        // The test sends the message itself.
        Assert.True(await rig.Context.Database.TryQueueMailsAsync(new(1), 0, 1, None));

        var calls = 0;
        var (entered, mayContinue) = (new TaskCompletionSource(), new TaskCompletionSource());
        var sender = PortProxy<INotificationSender>.Create(rig.Context.Sender, async _ =>
        {
            Interlocked.Increment(ref calls);
            entered.TrySetResult();
            await mayContinue.Task;
        });
        var context = rig.Context with { Sender = sender };
        var message = new MailMessage { Load = 1, First = 1, Last = 1 };
        var first = context.DispatchAsync(message);
        await entered.Task;
        await context.DispatchAsync(message);
        mayContinue.SetResult();
        await first;

        Assert.Equal(1, calls);
        Assert.Single(rig.Mails());
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(1)).State);
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Mail]); // to check again in case the first worker crashed
    }
}
