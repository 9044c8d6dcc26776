using HibpIngest.Storage.Azure.Tables;

namespace HibpIngest.Tests.AzureStorage;

public sealed class InFlightLimitTests
{
    private readonly TestClock _clock = TestClock.WithTimersByHand();
    private readonly InFlightLimit _limit;

    public InFlightLimitTests() => _limit = new InFlightLimit(_clock);

    [Theory]
    [InlineData(1)]
    [InlineData(40)]
    [InlineData(240)]
    [InlineData(400)]
    public void Limit_reaches_the_maximum_when_latency_does_not_grow_with_it(int latency)
    {
        Assert.Equal(8, _limit.Current);
        Rounds(6, _ => latency);
        Assert.Equal(InFlightLimit.Max, _limit.Current);
    }

    [Fact]
    public void Limit_does_not_grow_unless_it_is_used()
    {
        Rounds(20, _ => 5, inFlight: 3);
        Assert.Equal(8, _limit.Current);
    }

    [Theory]
    [InlineData(30)]
    [InlineData(100)]
    [InlineData(450)]
    public void Limit_settles_at_short_response_times_of_a_serial_server(int each)
    {
        var largest = 0;
        for (var round = 0; round < 60; round++)
        {
            Round(inFlight => inFlight * each);
            if (round > 10)
                largest = Math.Max(largest, _limit.Current);
            Assert.InRange(_limit.Current, InFlightLimit.Min, InFlightLimit.Max);
        }
        Assert.InRange(largest * each, 2 * each, 2_000);
    }

    [Fact]
    public void Latency_that_stays_high_with_two_in_flight_is_the_new_floor()
    {
        Rounds(6, _ => 20);
        var least = _limit.Current;
        for (var round = 0; round < 300; round++)
        {
            Round(_ => 600);
            least = Math.Min(least, _limit.Current);
        }
        Assert.Equal(InFlightLimit.Min, least);
        Assert.InRange(_limit.Current, 384, InFlightLimit.Max);
    }

    [Fact]
    public void Lost_requests_of_one_round_halve_the_limit_once_and_it_recovers_quickly()
    {
        Rounds(3, _ => 10);
        Assert.Equal(64, _limit.Current);
        var sent = Send(64);
        _clock.Advance(TimeSpan.FromSeconds(10));
        foreach (var at in sent)
            _limit.Lost(at);
        Assert.Equal(32, _limit.Current);
        // The service is down: no request gets a response.
        for (var times = 0; times < 10; times++)
        {
            var at = Send(1)[0];
            _clock.Advance(TimeSpan.FromSeconds(1));
            _limit.Lost(at);
        }
        Assert.Equal(InFlightLimit.Min, _limit.Current);
        Rounds(4, _ => 10);
        Assert.Equal(32, _limit.Current);
        Round(_ => 10);
        Assert.Equal(34, _limit.Current);
    }

    [Fact]
    public void Responses_to_requests_sent_before_a_cut_do_not_raise_the_limit()
    {
        var sent = Send(8);
        _clock.Advance(TimeSpan.FromSeconds(30));
        _limit.Lost(sent[0]);
        Assert.Equal(4, _limit.Current);
        foreach (var at in sent.Skip(1))
            _limit.Completed(at);
        Assert.Equal(4, _limit.Current);
    }

    [Fact]
    public void Limit_restarts_at_its_initial_value_after_a_pause()
    {
        Rounds(6, _ => 5);
        _clock.Advance(TimeSpan.FromSeconds(10));
        Send(1);
        Assert.Equal(InFlightLimit.First, _limit.Current);
    }

    /// <summary>Sends as many as allowed at once, and completes them at once, so that all measurements are of one limit.</summary>
    private void Round(Func<int, int> latency, int? inFlight = null)
    {
        var sent = Send(inFlight ?? _limit.Current);
        _clock.Advance(TimeSpan.FromMilliseconds(latency(sent.Count)));
        foreach (var at in sent)
            _limit.Completed(at);
        _clock.Advance(TimeSpan.FromMilliseconds(1));
    }

    private void Rounds(int count, Func<int, int> latency, int? inFlight = null)
    {
        for (var round = 0; round < count; round++)
            Round(latency, inFlight);
    }

    private List<long> Send(int count)
    {
        var sent = new List<long>();
        for (var number = 1; number <= count; number++)
        {
            _limit.Sent(number);
            sent.Add(_clock.GetTimestamp());
        }
        return sent;
    }
}
