using HibpIngest.Passwords.Serving;

namespace HibpIngest.Tests.Passwords;

/// <summary>Tests when the nearest account is used, and when it is skipped.</summary>
public sealed class NearestHealthTests
{
    private readonly TestClock _time = TestClock.WithTimersByHand();

    [Fact]
    public void It_is_skipped_after_failures_in_a_row_and_tried_by_one_request_every_few_seconds()
    {
        var health = new NearestHealth(_time);
        for (var failure = 1; failure < NearestHealth.MaxFailures; failure++)
            Assert.False(health.Failed());
        Assert.Equal(NearestTrial.First, health.Next());
        Assert.True(health.Failed());
        Assert.Equal(NearestTrial.None, health.Next());

        _time.Advance(NearestHealth.TrialEvery);
        Assert.Equal(NearestTrial.Concurrent, health.Next());
        Assert.Equal(NearestTrial.None, health.Next());
        Assert.False(health.Failed()); // reported once
        Assert.Equal(NearestTrial.None, health.Next());

        _time.Advance(NearestHealth.TrialEvery);
        Assert.Equal(NearestTrial.Concurrent, health.Next());
        Assert.True(health.Succeeded());
        Assert.Equal(NearestTrial.First, health.Next());
        Assert.False(health.Succeeded());
    }

    [Fact]
    public void Failures_now_and_then_are_forgotten()
    {
        var health = new NearestHealth(_time);
        for (var round = 0; round < 10; round++)
        {
            for (var failure = 1; failure < NearestHealth.MaxFailures; failure++)
                health.Failed();
            Assert.False(health.Succeeded());
            Assert.Equal(NearestTrial.First, health.Next());
        }
    }
}
