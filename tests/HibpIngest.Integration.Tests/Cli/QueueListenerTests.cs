using HibpIngest.Cli.LocalHost;

namespace HibpIngest.Integration.Tests.Cli;

/// <summary>Tests the rules of the local host's queue listener on the emulator's queues.</summary>
public sealed class QueueListenerTests : IAsyncLifetime
{
    private const string Queue = "work";
    private const string Poison = "work-poison";

    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(1);

    // Shorter than the pauses meant for people.
    private static readonly QueueListenerOptions Rules =
        new() { RetryDelay = TimeSpan.Zero, MinPause = TimeSpan.FromMilliseconds(5), MaxPause = TimeSpan.FromMilliseconds(50) };

    private readonly CancellationTokenSource _stop = new();
    private readonly CollectingLogger _log = new();
    private StorageAccount _account = null!;
    private ObservedQueues _queues = null!;

    public async Task InitializeAsync()
    {
        _account = StorageAccount.Open(await AzuriteFixture.NewAccountAsync(), NullLoggerFactory.Instance);
        _queues = new ObservedQueues(_account.Queues);
        await _account.Queues.Get(Queue).CreateAsync(None);
        await _account.Queues.Get(Poison).CreateAsync(None);
    }

    public Task DisposeAsync()
    {
        _stop.Dispose();
        _account.Dispose();
        return Task.CompletedTask;
    }

    [Fact]
    public async Task Message_of_this_process_ends_the_pause()
    {
        var empty = new TaskCompletionSource();
        var received = new TaskCompletionSource();
        _queues.OnReceived = _ => empty.TrySetResult();
        var listening = ListenAsync(Rules with { MinPause = TestTimeout, MaxPause = TestTimeout }, (_, _) =>
        {
            received.SetResult();
            return Task.CompletedTask;
        });
        await empty.Task.WaitAsync(TestTimeout);
        await SendAsync("a");
        await received.Task.WaitAsync(TestTimeout / 2);
        await _stop.CancelAsync();
        await listening;
    }

    [Fact]
    public async Task Message_is_poisoned_after_five_failures()
    {
        await SendAsync("bad");
        var failures = 0;
        await ListenAsync(Rules, (_, _) => throw new InvalidOperationException("no"), _ =>
        {
            if (++failures == 5)
                _stop.Cancel();
        });
        Assert.Equal(0, await DepthAsync(Queue));
        Assert.Equal("bad", Assert.Single(await _account.Queues.Get(Poison).PeekAsync(32, None)).Body);
    }

    [Fact]
    public async Task Failed_message_stays_invisible_for_the_retry_delay()
    {
        await SendAsync("bad");
        await ListenAsync(
            Rules with { RetryDelay = TimeSpan.FromMinutes(5) }, (_, _) => throw new InvalidOperationException("no"), _ => _stop.Cancel());
        Assert.Empty(await ReceiveAsync());
        Assert.Equal(1, await DepthAsync(Queue));
    }

    [Fact]
    public async Task Message_whose_last_attempt_ended_with_its_process_is_poisoned_without_another()
    {
        await SendAsync("deadly");
        for (var i = 0; i < 5; i++)
        {
            var taken = Assert.Single(await ReceiveAsync());
            await _account.Queues.Get(Queue).ExtendAsync(taken, TimeSpan.Zero, None);
        }
        _queues.After = (queue, operation) =>
        {
            if ((queue, operation) == (Queue, "delete"))
                _stop.Cancel();
        };
        var tries = 0;
        await ListenAsync(Rules, (_, _) => Task.FromResult(++tries));
        Assert.Equal(0, tries);
        Assert.Equal("deadly", Assert.Single(await _account.Queues.Get(Poison).PeekAsync(32, None)).Body);
    }

    [Fact]
    public async Task Message_is_kept_when_the_poison_queue_is_unavailable()
    {
        await SendAsync("bad");
        _queues.Before = (queue, operation) =>
        {
            if ((queue, operation) == (Poison, "send"))
            {
                _stop.Cancel();
                throw new UnavailableException("down");
            }
        };
        await ListenAsync(Rules with { MaxDequeueCount = 1 }, (_, _) => throw new InvalidOperationException("no"));
        Assert.Equal(1, await DepthAsync(Queue));
        Assert.Equal(0, await DepthAsync(Poison));
    }

    [Fact]
    public async Task Message_stays_invisible_while_it_is_processed()
    {
        await SendAsync("long");
        var visibility = TimeSpan.FromSeconds(2);
        var renewals = 0;
        var outlived = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _queues.After = (_, operation) =>
        {
            if (operation == "extend" && ++renewals == 3)
                outlived.SetResult();
        };
        var seenByOthers = -1;
        await ListenAsync(Rules with { Visibility = visibility }, async (_, _) =>
        {
            await outlived.Task.WaitAsync(TestTimeout);
            seenByOthers = (await ReceiveAsync()).Count;
            await _stop.CancelAsync();
        });
        Assert.Equal(0, seenByOthers);
        Assert.Equal(0, await DepthAsync(Queue));
    }

    [Fact]
    public async Task Visibility_timeout_is_90_seconds_however_long_the_work_and_renewed_in_time()
    {
        await SendAsync("long");
        var time = TestClock.WithTimersByHand();
        var began = time.GetTimestamp();
        var asked = new List<(string Operation, TimeSpan Visibility, TimeSpan At)>();
        var outlived = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var begun = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _queues.OnVisibility = (operation, visibility) =>
        {
            lock (asked)
            {
                asked.Add((operation, visibility, time.GetElapsedTime(began)));
                if (asked.Count(one => one.Operation == "extend") == 4)
                    outlived.TrySetResult();
            }
        };
        var listening = new QueueListener(_queues, Queue, async (_, _) =>
        {
            begun.SetResult();
            await outlived.Task;
            await _stop.CancelAsync();
        }, new QueueListenerOptions(), time, _log, new StoreHealth(_log)).RunAsync(_stop.Token);
        await begun.Task.WaitAsync(TestTimeout);
        Assert.Equal(("receive", TimeSpan.FromSeconds(90)), (asked[0].Operation, asked[0].Visibility));
        // The step equals the pause between two renewals, so that each step fires a timer.
        await time.AdvanceUntilAsync(outlived.Task, new QueueListenerOptions().Visibility / 2).WaitAsync(TestTimeout);
        await listening.WaitAsync(TestTimeout);
        lock (asked)
        {
            Assert.All(asked, one => Assert.Equal(TimeSpan.FromSeconds(90), one.Visibility));
            // Each renewal has half of the visibility to spare.
            var renewed = asked.Where(one => one.Operation == "extend").Select(one => one.At).Prepend(TimeSpan.Zero).ToList();
            Assert.All(
                renewed.Zip(renewed.Skip(1), (one, next) => next - one), gap => Assert.InRange(
                    gap, TimeSpan.FromSeconds(45), TimeSpan.FromSeconds(70)));
        }
        Assert.Equal(0, await DepthAsync(Queue));
    }

    [Fact]
    public async Task Message_lost_to_another_receiver_is_still_processed_to_its_end()
    {
        await SendAsync("lost");
        var finished = false;
        var renewed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _queues.After = (_, operation) =>
        {
            if (operation == "extend")
                renewed.TrySetResult();
        };
        await ListenAsync(Rules with { Visibility = TimeSpan.FromSeconds(2) }, async (_, token) =>
        {
            await _account.Queues.Get(Queue).ClearAsync(None);
            await renewed.Task.WaitAsync(TestTimeout, token);
            finished = true;
            await _stop.CancelAsync();
        });
        Assert.True(finished);
        Assert.Contains(_log.Lines, line => line.Event == 9003);
    }

    [Fact]
    public async Task Stop_loses_no_message_and_makes_unfinished_ones_visible_at_once()
    {
        var bodies = Enumerable.Range(0, 20).Select(i => $"m{i}").ToArray();
        await SendAsync(bodies);
        var begun = 0;
        var done = new ConcurrentBag<string>();
        await ListenAsync(Rules, async (body, token) =>
        {
            var place = Interlocked.Increment(ref begun);
            if (place <= 5)
            {
                done.Add(body);
                return;
            }
            // The sixth message and all after it are being processed when the listener stops.
            if (place == 16)
                await _stop.CancelAsync();
            await Task.Delay(Timeout.Infinite, token);
        });
        Assert.Equal(5, done.Count);
        var left = await ReceiveAsync();
        Assert.Equal(bodies.Order(), done.Concat(left.Select(message => message.Body)).Order());
        Assert.Equal(0, await DepthAsync(Poison));
    }

    [Fact]
    public async Task Stop_releases_the_message_of_work_that_does_not_end()
    {
        await SendAsync("stubborn");
        var never = new TaskCompletionSource();
        await ListenAsync(Rules with { ShutdownTimeout = TimeSpan.FromMilliseconds(100) }, async (_, _) =>
        {
            await _stop.CancelAsync();
            await never.Task;
        });
        Assert.Equal("stubborn", Assert.Single(await ReceiveAsync()).Body);
        never.SetResult();
    }

    [Fact]
    public async Task Batch_is_16_messages_and_the_next_is_fetched_at_8()
    {
        await SendAsync([.. Enumerable.Range(0, 30).Select(i => $"m{i}")]);
        var begun = 0;
        var inFlight = 0;
        var fetches = new List<(int AtWork, int Received)>();
        var atWork = 0;
        using var gate = new SemaphoreSlim(0);
        _queues.Before = (_, operation) =>
        {
            if (operation == "receive")
                atWork = Volatile.Read(ref inFlight);
        };
        _queues.OnReceived = count => fetches.Add((atWork, count));
        var deleted = 0;
        var sevenDeleted = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _queues.After = (_, operation) =>
        {
            if (operation == "delete" && Interlocked.Increment(ref deleted) == 7)
                sevenDeleted.SetResult();
        };
        var releasing = Task.Run(async () =>
        {
            await sevenDeleted.Task.WaitAsync(TestTimeout);
            // Nine are being processed: a listener that fetched at nine would have done so within a few calls.
            for (var calls = 0; calls < 5; calls++)
                await DepthAsync(Queue);
            gate.Release();
        });
        await ListenAsync(Rules, async (_, _) =>
        {
            Interlocked.Increment(ref inFlight);
            switch (Interlocked.Increment(ref begun))
            {
                case 16:
                    gate.Release(7);
                    break;
                case 30:
                    await _stop.CancelAsync();
                    gate.Release(22);
                    break;
            }
            await gate.WaitAsync(TestTimeout, None);
            Interlocked.Decrement(ref inFlight);
        });
        await releasing;
        Assert.Equal([(0, 16), (8, 14)], fetches);
        Assert.Equal(0, await DepthAsync(Queue));
    }

    [Fact]
    public async Task Batch_size_1_processes_messages_one_at_a_time()
    {
        await SendAsync("a", "b", "c", "d");
        var (inFlight, concurrent, done) = (0, 0, 0);
        await ListenAsync(Rules with { BatchSize = 1, NewBatchThreshold = 0 }, async (_, _) =>
        {
            if (Interlocked.Increment(ref inFlight) > 1)
                Interlocked.Increment(ref concurrent);
            await Task.Yield();
            Interlocked.Decrement(ref inFlight);
            if (Interlocked.Increment(ref done) == 4)
                await _stop.CancelAsync();
        });
        Assert.Equal(0, concurrent);
        Assert.Equal(0, await DepthAsync(Queue));
    }

    [Fact]
    public async Task Unavailable_queue_is_retried_and_logged_once()
    {
        await SendAsync("a");
        var receives = 0;
        _queues.Before = (_, operation) =>
        {
            if (operation == "receive" && ++receives <= 4)
                throw new UnavailableException("down");
        };
        var done = 0;
        await ListenAsync(Rules, (_, _) =>
        {
            done++;
            _stop.Cancel();
            return Task.CompletedTask;
        });
        Assert.Equal(1, done);
        Assert.Equal([9010, 9011], _log.Lines.Select(line => line.Event));
    }

    [Fact]
    public async Task Missing_queue_ends_the_listener()
    {
        await Assert.ThrowsAsync<StoreMissingException>(() =>
            new QueueListener(
                _account.Queues, "no-such-queue", (_, _) => Task.CompletedTask, Rules, TimeProvider.System, _log, new StoreHealth(_log))
            .RunAsync(_stop.Token).WaitAsync(TestTimeout));
    }

    private Task ListenAsync(QueueListenerOptions rules, Func<string, CancellationToken, Task> work, Action<Exception>? onFailure = null) =>
        new QueueListener(_queues, Queue, work, rules, TimeProvider.System, _log, new StoreHealth(_log)) { OnFailure = onFailure }
            .RunAsync(_stop.Token).WaitAsync(TestTimeout);

    private async Task SendAsync(params string[] bodies)
    {
        foreach (var body in bodies)
            await _account.Queues.Get(Queue).SendAsync(body, TimeSpan.Zero, None);
    }

    private Task<IReadOnlyList<QueuedMessage>> ReceiveAsync() => _account.Queues.Get(Queue).ReceiveAsync(32, TimeSpan.FromMinutes(1), None);

    private async Task<int> DepthAsync(string queue) => (await _account.Queues.Get(queue).GetDepthAsync(None)).Messages;
}
