using HibpIngest.Passwords.Serving;

namespace HibpIngest.Tests.Passwords;

public sealed class NearestHealthTests
{
    private readonly TestClock _time = TestClock.WithTimersByHand();

    [Fact]
    public void Consecutive_failures_skip_the_nearest_account_except_for_one_trial_per_interval()
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
    public void A_success_resets_the_failure_count()
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
