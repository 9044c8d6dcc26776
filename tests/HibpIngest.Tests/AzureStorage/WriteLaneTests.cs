using HibpIngest.Storage.Azure.Tables;

namespace HibpIngest.Tests.AzureStorage;

public sealed class WriteLaneTests
{
    private static readonly TimeSpan Step = TimeSpan.FromMilliseconds(100);

    private readonly TestClock _clock = TestClock.WithTimersByHand();

    [Theory]
    [InlineData(0, 0)]
    [InlineData(5, 5)]
    [InlineData(30, 30)]
    [InlineData(10, 10, 1)]
    public async Task Lane_waits_for_the_longest_pause_that_the_service_asks_for(int least, params int[] pauses)
    {
        using var lane = await RefusedAsync(pauses);
        var began = _clock.GetTimestamp();
        var turn = lane.EnterAsync(1, first: false, CancellationToken.None);
        Assert.False(turn.IsCompleted);
        await _clock.AdvanceUntilAsync(turn, Step).WaitAsync(TimeSpan.FromMinutes(1));
        await turn;
        Assert.InRange(_clock.GetElapsedTime(began).TotalSeconds, least, least + 4);
    }

    [Fact]
    public async Task Cancelled_waiter_does_not_block_the_others()
    {
        using var lane = await RefusedAsync(5);
        using var stop = new CancellationTokenSource();
        var impatient = lane.EnterAsync(1, first: false, stop.Token);
        var other = lane.EnterAsync(1, first: false, CancellationToken.None);
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => impatient);
        await _clock.AdvanceUntilAsync(other, Step).WaitAsync(TimeSpan.FromMinutes(1));
        await other;
    }

    /// <summary>Makes a lane on which one transaction per pause was sent, a second apart, and then refused.</summary>
    private async Task<WriteLane> RefusedAsync(params int[] pauses)
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
            lane.Refused(10, at, TimeSpan.FromSeconds(pause), cut: true);
        Assert.True(lane.IsThrottled);
        return lane;
    }
}
