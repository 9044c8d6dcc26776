using HibpIngest.Hosting.Messages;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Messaging;
using HibpIngest.Pipeline.Recovery;
using HibpIngest.Pipeline.Sweeping;

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
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 300))));
        await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, CancellationToken.None);
        var dispatcher = rig.Context.Get<MessageDispatcher>();
        foreach (var name in QueueNames.All)
        {
            var queue = rig.Context.Queues.Get(name);
            if (name == lost)
            {
                Assert.NotEqual(0, (await queue.GetDepthAsync(CancellationToken.None)).Messages);
                await queue.ClearAsync(CancellationToken.None);
                break;
            }
            foreach (var message in await queue.ReceiveAsync(32, TimeSpan.FromMinutes(10), CancellationToken.None))
            {
                await dispatcher.DispatchAsync(name, message.Body, CancellationToken.None);
                await queue.DeleteAsync(message, CancellationToken.None);
            }
        }
        await rig.RunToEndAsync();
        Assert.NotEqual(LoadState.Done, (await rig.LoadAsync(1)).State);

        clock.Advance(TimeSpan.FromHours(1));
        await rig.Context.Get<Sweep>().RunAsync(CancellationToken.None);
        await rig.RunToEndAsync();
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(1)).State);
        Assert.Equal(300, (await rig.TableAsync()).Count);
        Assert.Single(rig.Mails());
    }

    [Fact]
    public async Task Process_that_crashes_during_a_sweep_delays_the_next_sweep_by_a_minute()
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(Small, clock);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 300))));
        await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, CancellationToken.None);
        var (ingest, slices) = (rig.Context.Queues.Get(QueueNames.Ingest), rig.Context.Queues.Get(QueueNames.Slices));
        var message = Assert.Single(await ingest.ReceiveAsync(1, TimeSpan.FromMinutes(10), CancellationToken.None));
        await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Ingest, message.Body, CancellationToken.None);
        await slices.ClearAsync(CancellationToken.None);
        clock.Advance(TimeSpan.FromHours(1));
        // A crashed process doesn't release its lock.
        var dying = new HookedPorts((_, what) => what is nameof(ISlices.ListStaleSlicesAsync) or nameof(IDatabaseState.UnlockAsync)
            ? throw new UnavailableException("gone") : Task.CompletedTask).Wrap(rig.OpenContext());
        await Assert.ThrowsAsync<UnavailableException>(() => dying.Get<Sweep>().RunAsync(CancellationToken.None));

        await rig.OpenContext().Get<Sweep>().RunAsync(CancellationToken.None);
        Assert.Equal(0, (await slices.GetDepthAsync(CancellationToken.None)).Messages);
        clock.Advance(TimeSpan.FromSeconds(61));
        await rig.OpenContext().Get<Sweep>().RunAsync(CancellationToken.None);
        Assert.Equal(3, (await slices.GetDepthAsync(CancellationToken.None)).Messages);
    }

    [Fact]
    public async Task Sweep_resends_no_message_that_may_still_arrive()
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(Small, clock);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 300))));
        await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, CancellationToken.None);
        var ingest = rig.Context.Queues.Get(QueueNames.Ingest);
        var message = Assert.Single(await ingest.ReceiveAsync(1, TimeSpan.FromMinutes(10), CancellationToken.None));
        await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Ingest, message.Body, CancellationToken.None);
        await ingest.DeleteAsync(message, CancellationToken.None);

        var before = await rig.DepthsAsync();
        Assert.Equal(3, before[QueueNames.Slices]);
        await rig.Context.Get<Sweep>().RunAsync(CancellationToken.None);
        clock.Advance(rig.Options.Sweep.SweepStaleAge - TimeSpan.FromMinutes(1)); // old, but the messages may still be hidden
        await rig.Context.Get<Sweep>().RunAsync(CancellationToken.None);
        Assert.Equal(before, await rig.DepthsAsync());
        clock.Advance(TimeSpan.FromMinutes(1));
        await rig.Context.Get<Sweep>().RunAsync(CancellationToken.None);
        Assert.Equal(6, (await rig.DepthsAsync())[QueueNames.Slices]);
    }

    [Fact]
    public async Task Sweep_makes_no_database_call_without_open_loads_and_starts_zips_without_a_load()
    {
        var clock = new TestClock();
        await using var rig = await PipelineRig.StartAsync(Small, clock);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 300))));
        await rig.RunToEndAsync();
        await rig.Context.Get<Sweep>().RunAsync(CancellationToken.None); // clears the mark of the finished load

        var asleep = new CrashPoint(1, afterwards: false).Wrap(rig.Context).Database;
        var sleeping = rig.Context with { Database = asleep };
        await sleeping.Get<Sweep>().RunAsync(CancellationToken.None);

        await rig.DropAsync("Y.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))));
        await sleeping.Get<Sweep>().RunAsync(CancellationToken.None);
        Assert.Equal(0, (await rig.DepthsAsync())[QueueNames.Ingest]); // its event may be on the way
        clock.Advance(TimeSpan.FromMinutes(3));
        await sleeping.Get<Sweep>().RunAsync(CancellationToken.None);
        await sleeping.Get<Sweep>().RunAsync(CancellationToken.None);
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Ingest]);
    }

    [Fact]
    public async Task Slice_is_deferred_without_costing_an_attempt_while_the_table_is_down()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 100))));
        var down = rig.Context.WithTable(new DownTable());
        await PipelineRig.RunToEndAsync(down);

        var slice = Assert.Single(await rig.SlicesAsync(1));
        Assert.Equal((SliceState.Queued, 0), (slice.State, slice.Attempts));
        Assert.Equal("the table is down", slice.Error);
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Slices]);
        Assert.Empty(await rig.Context.Queues.Get(QueueNames.Slices).PeekAsync(1, CancellationToken.None)); // delayed
    }

    [Fact]
    public async Task Sweep_does_not_resend_a_deferred_message()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 100))));
        var hooks = new HookedBlobs(rig.Context.Blobs, () => throw new UnavailableException("the blobs are down"));
        await (rig.Context with { Blobs = hooks }).Get<DroppedBreaches>().IngestAsync("X.zip", CancellationToken.None);
        Assert.Equal(LoadState.Ingesting, (await rig.LoadAsync(1)).State);
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Ingest]);

        await rig.Context.Get<Sweep>().RunAsync(CancellationToken.None);
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
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 300))));
        await rig.Context.Get<BlobScan>().RunAsync(TimeSpan.Zero, CancellationToken.None);
        var queue = rig.Context.Queues.Get(QueueNames.Slices);
        var ingest = Assert.Single(
            await rig.Context.Queues.Get(QueueNames.Ingest).ReceiveAsync(1, TimeSpan.FromMinutes(10), CancellationToken.None));
        await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Ingest, ingest.Body, CancellationToken.None);
        await rig.Context.Queues.Get(QueueNames.Ingest).DeleteAsync(ingest, CancellationToken.None);

        var broken = rig.Context.WithTable(new BrokenTable()).Get<MessageDispatcher>();
        var messages = await queue.ReceiveAsync(32, TimeSpan.FromMinutes(10), CancellationToken.None);
        var second = messages.Single(message => WorkMessage.Parse<SliceMessage>(message.Body).Slice == 2);
        for (var attempt = 1; attempt <= 5; attempt++)
        {
            Assert.Equal(LoadState.Upserting, (await rig.LoadAsync(1)).State);
            await Assert.ThrowsAsync<InvalidOperationException>(
                () => broken.DispatchAsync(QueueNames.Slices, second.Body, CancellationToken.None));
        }
        var load = await rig.LoadAsync(1);
        Assert.Equal(LoadState.Failed, load.State);
        Assert.Contains("slice 2", load.Error, StringComparison.Ordinal);
        Assert.DoesNotContain('@', load.Error!);
        foreach (var message in messages)
        {
            // The other slices of a failed load continue; the failed slice's message is where the host put it.
            if (message != second)
                await rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Slices, message.Body, CancellationToken.None);
            await queue.DeleteAsync(message, CancellationToken.None);
        }
        Assert.Equal(LoadState.Failed, (await rig.LoadAsync(1)).State);
        Assert.Equal(new SliceCounts(0, 0, 2, 1), (await rig.LoadAsync(1)).Slices);

        // By re-sending its poisoned message by hand.
        await queue.SendAsync(second.Body, TimeSpan.Zero, CancellationToken.None);
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
            await poison.SendAsync(new SliceMessage { Load = 1, Slice = slice }.ToJson(), TimeSpan.Zero, CancellationToken.None);
        Assert.Equal(40, await rig.Context.Get<PoisonQueue>().RequeueAsync(QueueNames.Slices, CancellationToken.None));
        Assert.Equal(
            (40, 0),
            ((await rig.DepthsAsync())[QueueNames.Slices], (await rig.DepthsAsync())[QueueNames.Slices + QueueNames.PoisonSuffix]));
        await rig.RunToEndAsync(); // no such load: acknowledged
        Assert.Equal(0, (await rig.DepthsAsync())[QueueNames.Slices]);
    }

    [Theory]
    [InlineData("")]
    [InlineData("not json")]
    [InlineData("{}")]
    [InlineData("""{"version":2,"load":1,"slice":1}""")]
    [InlineData("[1]")]
    public async Task Unreadable_message_is_rejected_without_repeating_its_text(string body)
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        var error = await Assert.ThrowsAsync<UnreadableMessageException>(
            () => rig.Context.Get<MessageDispatcher>().DispatchAsync(QueueNames.Slices, body, CancellationToken.None));
        Assert.True(body.Length < 3 || !error.Message.Contains(body, StringComparison.Ordinal));
    }

    [Fact]
    public async Task A_purged_load_refuses_requeueing_and_acknowledges_late_messages()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 300))));
        await rig.RunToEndAsync();
        var requeue = rig.Context.Get<RequeueSlices>();
        Assert.Equal(300, await rig.Context.Get<PurgeLoad>().RunAsync(new(1), withoutJournal: true, null, CancellationToken.None));

        var error = await Assert.ThrowsAsync<NotPossibleException>(
            () => requeue.RunAsync("X", null, failedOnly: false, CancellationToken.None));
        Assert.Contains("drop the archive again", error.Message, StringComparison.Ordinal);
        await Assert.ThrowsAsync<NotPossibleException>(
            () => requeue.RunAsync("X", 1, failedOnly: false, CancellationToken.None));
        await rig.Context.Get<MessageDispatcher>().DispatchAsync(
            QueueNames.Slices, new SliceMessage { Load = 1, Slice = 1 }.ToJson(), CancellationToken.None);
        Assert.Single(await rig.FindAsync("user0@example.com"));
    }

    [Fact]
    public async Task Concurrent_deliveries_of_a_mail_message_send_each_mail_once()
    {
        await using var rig = await PipelineRig.StartAsync(Small);
        await rig.ImportAsync(("user0@example.com", null));
        await rig.DropAsync("X.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 10))), """{"notify":"hold"}""");
        await rig.RunToEndAsync();
        Assert.True(await rig.Context.Database.ReleaseLoadNotificationsAsync(new(1), CancellationToken.None));
        // The test sends the message itself.
        Assert.True(await rig.Context.Database.TryQueueMailsAsync(new(1), 0, 1, CancellationToken.None));

        await using var sender = new WaitingSender();
        var dispatcher = (rig.Context with { Sender = sender }).Get<MessageDispatcher>();
        var message = new MailMessage { Load = 1, First = 1, Last = 1 }.ToJson();
        var first = dispatcher.DispatchAsync(QueueNames.Mail, message, CancellationToken.None);
        await sender.Entered.Task;
        await dispatcher.DispatchAsync(QueueNames.Mail, message, CancellationToken.None);
        sender.MayContinue.SetResult();
        await first;

        Assert.Equal(1, sender.Calls);
        Assert.Equal(LoadState.Done, (await rig.LoadAsync(1)).State);
        Assert.Equal(1, (await rig.DepthsAsync())[QueueNames.Mail]); // to check again in case the first worker crashed
    }

    private sealed class WaitingSender : INotificationSender
    {
        private int _calls;

        public TaskCompletionSource Entered { get; } = new();

        public TaskCompletionSource MayContinue { get; } = new();

        public int Calls => _calls;

        public string DisplayName => "waiting";

        public Task CheckAsync(string from, CancellationToken cancellationToken) => Task.CompletedTask;

        public async Task SendAsync(OutgoingMail mail, CancellationToken cancellationToken)
        {
            Interlocked.Increment(ref _calls);
            Entered.TrySetResult();
            await MayContinue.Task;
        }

        public ValueTask DisposeAsync() => ValueTask.CompletedTask;
    }

    private sealed class DownTable : FaultyTable
    {
        protected override Exception Fault() => new UnavailableException("the table is down");
    }

    private sealed class BrokenTable : FaultyTable
    {
        protected override Exception Fault() => new InvalidOperationException("somebody@example.com");
    }

    private abstract class FaultyTable : IAccountTable
    {
        protected abstract Exception Fault();

        public Task CreateAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task DropAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task UpsertAsync(
            ReadOnlyMemory<byte> domain, ReadOnlyMemory<Range> aliases, ReadOnlyMemory<byte> bytes, int mark,
            TransactionsInFlight inFlight, CancellationToken cancellationToken) =>
            throw Fault();

        public Task MergeAsync(ReadOnlyMemory<byte> partition, MarkedRows rows, CancellationToken cancellationToken) => throw Fault();

        public Task PutOptOutAsync(string partition, string key, OptOutLevel level, CancellationToken cancellationToken) => throw Fault();

        public IAsyncEnumerable<string> ListAliasesAsync(
            string domain, IReadOnlyCollection<int> marks, CancellationToken cancellationToken) => throw Fault();

        public Task<int> RemoveMarkAsync(
            string domain, IReadOnlyCollection<string> aliases, int mark, CancellationToken cancellationToken) => throw Fault();

        public Task<AccountPage> ReadPageAsync(int part, string? token, CancellationToken cancellationToken) => throw Fault();

        public Task<MarkPage> RemoveMarkAsync(int mark, int part, string? token, CancellationToken cancellationToken) => throw Fault();
    }
}
