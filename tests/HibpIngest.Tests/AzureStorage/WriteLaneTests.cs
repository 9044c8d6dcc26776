using HibpIngest.Storage.Azure.Tables;

namespace HibpIngest.Tests.AzureStorage;

public sealed class WriteLaneTests
{
    private static readonly TimeSpan Step = TimeSpan.FromMilliseconds(100);

    private readonly TestClock _clock = TestClock.WithTimersByHand();

    [Theory]
    [InlineData(0, 0, 4)]
    [InlineData(5, 5, 9)]
    [InlineData(30, 30, 34)]
    public async Task Lane_waits_as_long_as_the_service_asks(int retryAfter, int least, int most)
    {
        using var lane = await RefusedAsync(TimeSpan.FromSeconds(retryAfter));
        var began = _clock.GetTimestamp();
        await GoAsync(lane);
        Assert.InRange(_clock.GetElapsedTime(began).TotalSeconds, least, most);
    }

    [Fact]
    public async Task Longest_requested_pause_wins()
    {
        using var lane = await RefusedAsync(TimeSpan.FromSeconds(10), TimeSpan.FromSeconds(1));
        var began = _clock.GetTimestamp();
        await GoAsync(lane);
        Assert.InRange(_clock.GetElapsedTime(began).TotalSeconds, 10, 14);
    }

    [Fact]
    public async Task Cancelled_waiter_does_not_block_the_others()
    {
        using var lane = await RefusedAsync(TimeSpan.FromSeconds(5));
        using var stop = new CancellationTokenSource();
        var impatient = lane.EnterAsync(1, first: false, stop.Token);
        var other = lane.EnterAsync(1, first: false, CancellationToken.None);
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => impatient);
        await _clock.AdvanceUntilAsync(other, Step).WaitAsync(TimeSpan.FromMinutes(1));
        await other;
    }

    /// <summary>Makes a lane on which one transaction per pause was sent, a second apart, and then refused.</summary>
    private async Task<WriteLane> RefusedAsync(params TimeSpan[] pauses)
    {
        var lane = new WriteLane(pauses.Length, _clock);
        var sent = new List<long>();
        foreach (var _ in pauses)
        {
            await lane.EnterAsync(10, first: false, CancellationToken.None);
            sent.Add(_clock.GetTimestamp());
            _clock.Advance(TimeSpan.FromSeconds(1));
        }
        foreach (var (at, pause) in sent.Zip(pauses))
            lane.Refused(10, at, pause, cut: true);
        Assert.True(lane.IsThrottled);
        return lane;
    }

    private async Task GoAsync(WriteLane lane)
    {
        var turn = lane.EnterAsync(1, first: false, CancellationToken.None);
        Assert.False(turn.IsCompleted);
        await _clock.AdvanceUntilAsync(turn, Step).WaitAsync(TimeSpan.FromMinutes(1));
        await turn;
    }
}
