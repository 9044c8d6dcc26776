using HibpIngest.Storage.Azure.Tables;

namespace HibpIngest.Tests.AzureStorage;

public sealed class WriteThrottleTests
{
    private const int Entities = 100;

    // The longest time for which a lane's timer is set.
    private static readonly TimeSpan Step = TimeSpan.FromMilliseconds(100);
    private static readonly WriteRefusal Busy = new(new StoreThrottledException("busy"), TimeSpan.Zero);
    private readonly TestClock _clock = TestClock.WithTimersByHand();

    [Fact]
    public async Task Refusals_of_transactions_admitted_before_a_cut_do_not_cut_again()
    {
        const int Transactions = 8;
        // One transaction is in flight; the others are admitted to the partition and wait for the account.
        using var throttle = new WriteThrottle(_clock, maxInFlight: 1);
        var allAdmitted = new TaskCompletionSource();
        var sending = Enumerable.Range(0, Transactions).Select(number => SendAsync(throttle, "example.com", async attempt =>
        {
            await allAdmitted.Task;
            if (attempt > 1)
                return null;
            _clock.Advance(TimeSpan.FromMilliseconds(300));
            return Busy;
        })).ToList();
        var began = _clock.GetTimestamp();
        allAdmitted.SetResult();
        await FinishAsync(Task.WhenAll(sending));
        // They were sent at 800 entities/s. If each refusal halved that, the minimum of 50 would remain: 16 s for 800.
        Assert.InRange(_clock.GetElapsedTime(began).TotalSeconds, 0, 6);
    }

    [Fact]
    public async Task Refusals_soon_after_a_cut_do_not_cut_again()
    {
        using var throttle = new WriteThrottle(_clock);
        var begin = new TaskCompletionSource();
        var sending = Task.WhenAll(Enumerable.Range(0, 80).Select(_ => SendAsync(throttle, "example.com", async _ =>
        {
            await begin.Task;
            return null;
        })).ToList());
        // Refused only after all others are done: each that ends later would advance the clock by a step.
        var refused = SendAsync(throttle, "example.com", async attempt =>
        {
            await sending;
            return attempt <= 30 ? Busy : null;
        });
        var began = _clock.GetTimestamp();
        begin.SetResult();
        await FinishAsync(refused);
        // 8,000 entities were sent at once. Most attempts wait for one step; if each refusal cut the rate, most would wait for 2 s: 20 s in
        // all.
        Assert.InRange(_clock.GetElapsedTime(began).TotalSeconds, 0, 10);
    }

    [Fact]
    public async Task Partition_refused_by_a_busy_account_is_not_paced()
    {
        using var throttle = new WriteThrottle(_clock);
        for (var i = 0; i < 100; i++)
            await SendAsync(throttle, "large.example", _ => Task.FromResult<WriteRefusal?>(null));
        static Task<WriteRefusal?> RefuseOnce(int attempt) => Task.FromResult(attempt == 1 ? Busy : null);
        // Refusals of four partitions mean that the account is busy.
        var paced = Enumerable.Range(1, 4).Select(number => SendAsync(throttle, $"d{number}.example", RefuseOnce)).ToList();
        var fifth = SendAsync(throttle, "d5.example", RefuseOnce);
        Assert.False(fifth.IsCompleted);
        // The account, which took 10,000 a second, is paced at 7,500. A partition that took 100 would be paced at 75.
        _clock.Advance(Step);
        await fifth.WaitAsync(TimeSpan.FromSeconds(30));
        Assert.DoesNotContain(paced, task => task.IsCompleted);
        await FinishAsync(Task.WhenAll(paced));
    }

    private static Task SendAsync(WriteThrottle throttle, string partition, Func<int, Task<WriteRefusal?>> send)
    {
        var attempt = 0;
        return throttle.SendWithoutTimeoutAsync(
            "accounts", Encoding.ASCII.GetBytes(partition), Entities, () => send(++attempt), CancellationToken.None);
    }

    private async Task FinishAsync(Task task)
    {
        await _clock.AdvanceUntilAsync(task, Step);
        await task;
    }
}
