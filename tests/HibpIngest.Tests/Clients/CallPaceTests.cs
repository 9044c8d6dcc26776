using HibpIngest.Pipeline.Callbacks;

namespace HibpIngest.Tests.Clients;

public sealed class CallPaceTests
{
    private const int Cap = 4;
    private static readonly CallResponse Accepted = new(CallOutcome.Accepted, 200, null, null);
    private static readonly CallResponse Refused = new(CallOutcome.Refused, 500, null, "it answered 500");

    private readonly TestClock _clock = TestClock.WithTimersByHand();

    [Fact]
    public void Turn_ends_after_its_maximum_time()
    {
        var pace = NewPace();
        Assert.Equal(TimeSpan.Zero, pace.Before());
        _clock.Advance(CallPace.TurnTime - TimeSpan.FromMilliseconds(1));
        Assert.Equal(TimeSpan.Zero, pace.Before());
        _clock.Advance(TimeSpan.FromMilliseconds(1));
        Assert.Null(pace.Before());
        Assert.Equal(new CallbackTurnEnd(0, false, false, null, null), pace.End());
    }

    [Theory]
    [InlineData(4, 8)]
    [InlineData(64, 64)]
    public void Turn_stops_after_8_consecutive_failures_or_as_many_as_the_cap(int cap, int failures)
    {
        var pace = NewPace(cap: cap);
        for (var i = 1; i < failures; i++)
        {
            pace.After(Refused, _clock.GetTimestamp());
            Assert.Equal(TimeSpan.Zero, pace.Before());
        }
        // An accepted call restarts the count.
        pace.After(Accepted, _clock.GetTimestamp());
        for (var i = 1; i < failures; i++)
            pace.After(Refused, _clock.GetTimestamp());
        Assert.Equal(TimeSpan.Zero, pace.Before());
        pace.After(Refused, _clock.GetTimestamp());
        Assert.Null(pace.Before());
        var end = pace.End();
        Assert.Equal((1, true, true, TimeSpan.FromSeconds(1)), (end.Failures, end.HasAnswered, end.HasFailed, end.Pause));
        // Failures of other calls in flight don't lengthen the pause.
        pace.After(Refused, _clock.GetTimestamp());
        Assert.Equal(1, pace.End().Failures);
    }

    [Fact]
    public void Backoff_continues_from_the_last_turn_until_a_call_is_accepted()
    {
        var pace = NewPace(failures: 5);
        for (var i = 0; i < 8; i++)
            pace.After(Refused, _clock.GetTimestamp());
        Assert.Equal((6, false, TimeSpan.FromSeconds(6)), (pace.End().Failures, pace.End().HasAnswered, pace.End().Pause));
        pace = NewPace(failures: 5);
        pace.After(Accepted, _clock.GetTimestamp());
        Assert.Equal(0, pace.End().Failures);
        pace.Fail();
        Assert.Equal((1, TimeSpan.FromSeconds(1)), (pace.End().Failures, pace.End().Pause));
        Assert.Null(pace.Before());
    }

    [Fact]
    public void Throttled_pause_is_applied_and_concurrent_responses_count_once()
    {
        var pace = NewPace();
        var began = _clock.GetTimestamp();
        _clock.Advance(TimeSpan.FromMilliseconds(1));
        pace.After(Throttled(TimeSpan.FromSeconds(2)), began);
        Assert.Equal(TimeSpan.FromSeconds(2), pace.Before());
        _clock.Advance(TimeSpan.FromSeconds(0.5));
        // Calls in flight with it: a shorter pause changes nothing, a longer one extends it.
        pace.After(Throttled(null), began);
        pace.After(Throttled(TimeSpan.FromSeconds(1)), began);
        Assert.Equal(TimeSpan.FromSeconds(1.5), pace.Before());
        pace.After(Throttled(TimeSpan.FromSeconds(3)), began);
        Assert.Equal((TimeSpan.FromSeconds(3), 1), (pace.Before(), pace.End().Failures));
        _clock.Advance(TimeSpan.FromSeconds(3));
        Assert.Equal(TimeSpan.Zero, pace.Before());
        // A throttled response without Retry-After backs off too, by a tenth of the pause after a failure.
        pace.After(Throttled(null), _clock.GetTimestamp());
        Assert.Equal(TimeSpan.FromSeconds(0.2), pace.Before());
    }

    [Fact]
    public void Long_pause_ends_the_turn_and_the_rest_is_returned()
    {
        var pace = NewPace();
        pace.After(Throttled(TimeSpan.FromSeconds(6)), _clock.GetTimestamp());
        Assert.Null(pace.Before());
        _clock.Advance(TimeSpan.FromSeconds(2));
        Assert.Equal(TimeSpan.FromSeconds(4), pace.End().Pause);
    }

    [Fact]
    public void Gone_response_stops_the_turn_and_each_outcome_is_counted()
    {
        var pace = NewPace();
        _clock.Advance(TimeSpan.FromMilliseconds(10));
        var began = _clock.GetTimestamp();
        _clock.Advance(TimeSpan.FromMilliseconds(30));
        pace.After(Accepted, began);
        pace.After(new CallResponse(CallOutcome.Gone, 410, null, "it answered 410"), _clock.GetTimestamp());
        Assert.True(pace.IsGone && pace.IsStopped);
        Assert.Null(pace.Before());
        Assert.Equal((1L, 1L, 0L), (pace.Count(CallOutcome.Accepted), pace.Count(CallOutcome.Gone), pace.Count(CallOutcome.Refused)));
        Assert.Equal(TimeSpan.FromMilliseconds(15), pace.End().CallTime);
    }

    /// <summary>A worker that waited for such a pause kept its slot and the client's lease for up to an hour.</summary>
    [Fact]
    public void Pause_of_a_turn_that_ends_concurrently_is_not_awaited()
    {
        for (var i = 0; i < 100_000; i++)
        {
            var pace = NewPace(failures: 3_600);
            Parallel.Invoke(pace.Fail, () => Assert.True(pace.Before() is not { } wait || wait == TimeSpan.Zero));
        }
    }

    private static CallResponse Throttled(TimeSpan? retryAfter) => new(CallOutcome.Throttled, 429, retryAfter, "it answered 429");

    private CallPace NewPace(int failures = 0, int cap = Cap) =>
        new(new CallbackTurn(failures, null), cap, before => TimeSpan.FromSeconds(before + 1), _clock);
}
