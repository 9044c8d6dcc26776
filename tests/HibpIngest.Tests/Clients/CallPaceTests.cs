using HibpIngest.Pipeline.Callbacks;

namespace HibpIngest.Tests.Clients;

public sealed class CallPaceTests
{
    private const int Cap = 4;
    private static readonly CallResponse Accepted = new(CallOutcome.Accepted, 200, null, null);
    private static readonly CallResponse Refused = new(CallOutcome.Refused, 500, null, "it answered 500");

    private readonly TestClock _clock = TestClock.WithTimersByHand();

    [Fact]
    public void A_turn_ends_with_its_time()
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
    public void One_that_takes_nothing_is_left_alone_after_a_few_or_as_many_as_are_in_flight(int cap, int failures)
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
        // Calls that were in flight with them don't lengthen it.
        pace.After(Refused, _clock.GetTimestamp());
        Assert.Equal(1, pace.End().Failures);
    }

    [Fact]
    public void Pauses_go_on_where_the_last_turn_ended()
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
    public void One_that_asks_for_a_pause_gets_it_and_those_in_flight_together_ask_for_one()
    {
        var pace = NewPace();
        var began = _clock.GetTimestamp();
        _clock.Advance(TimeSpan.FromMilliseconds(1));
        pace.After(Throttled(TimeSpan.FromSeconds(2)), began);
        Assert.Equal(TimeSpan.FromSeconds(2), pace.Before());
        _clock.Advance(TimeSpan.FromSeconds(0.5));
        // In flight with it: a shorter pause changes nothing, a longer one counts.
        pace.After(Throttled(null), began);
        pace.After(Throttled(TimeSpan.FromSeconds(1)), began);
        Assert.Equal(TimeSpan.FromSeconds(1.5), pace.Before());
        pace.After(Throttled(TimeSpan.FromSeconds(3)), began);
        Assert.Equal((TimeSpan.FromSeconds(3), 1), (pace.Before(), pace.End().Failures));
        _clock.Advance(TimeSpan.FromSeconds(3));
        Assert.Equal(TimeSpan.Zero, pace.Before());
        // Throttling without a Retry-After backs off too, at a tenth of the pauses of a failure.
        pace.After(Throttled(null), _clock.GetTimestamp());
        Assert.Equal(TimeSpan.FromSeconds(0.2), pace.Before());
    }

    [Fact]
    public void A_long_pause_is_waited_for_without_a_place()
    {
        var pace = NewPace();
        pace.After(Throttled(TimeSpan.FromSeconds(6)), _clock.GetTimestamp());
        Assert.Null(pace.Before());
        _clock.Advance(TimeSpan.FromSeconds(2));
        Assert.Equal(TimeSpan.FromSeconds(4), pace.End().Pause);
    }

    [Fact]
    public void One_that_has_gone_is_asked_no_more_and_an_outcome_is_counted_each()
    {
        var pace = NewPace();
        _clock.Advance(TimeSpan.FromMilliseconds(10));
        var began = _clock.GetTimestamp();
        _clock.Advance(TimeSpan.FromMilliseconds(30));
        pace.After(Accepted, began);
        pace.After(new CallResponse(CallOutcome.Gone, 410, null, "it answered 410"), _clock.GetTimestamp());
        Assert.True(pace.IsGone && pace.IsStopped);
        Assert.Null(pace.Before());
        Assert.Equal(
            (1L, 1L, 0L), (pace.Count(CallOutcome.Accepted), pace.Count(CallOutcome.Gone), pace.Count(CallOutcome.Refused)));
        Assert.Equal(TimeSpan.FromMilliseconds(15), pace.End().CallTime);
    }

    /// <summary>A worker that waited for such a pause held its place, and the client's lease, for up to an hour.</summary>
    [Fact]
    public void The_pause_of_a_turn_that_ends_meanwhile_is_not_waited_for()
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
