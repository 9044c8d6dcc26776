using HibpIngest.Storage.Azure.Tables;

namespace HibpIngest.Tests.AzureStorage;

/// <summary>Tests how many transactions are in flight to a storage account, by a manual clock.</summary>
public sealed class InFlightLimitTests
{
    private readonly TestClock _clock = TestClock.WithTimersByHand();

    [Theory]
    [InlineData(1)]
    [InlineData(40)]
    [InlineData(240)]
    [InlineData(400)]
    public void Limit_reaches_the_maximum_when_latency_does_not_grow_with_it(int latency)
    {
        var limit = new InFlightLimit(_clock);
        Assert.Equal(8, limit.Current);
        for (var round = 0; round < 6; round++)
            Round(limit, _ => latency);
        Assert.Equal(InFlightLimit.Max, limit.Current);
    }

    [Fact]
    public void Limit_does_not_grow_unless_it_is_used()
    {
        var limit = new InFlightLimit(_clock);
        for (var round = 0; round < 20; round++)
            Round(limit, _ => 5, inFlight: 3);
        Assert.Equal(8, limit.Current);
    }

    [Theory]
    [InlineData(30)]
    [InlineData(100)]
    [InlineData(450)]
    public void Limit_settles_at_short_response_times_of_a_serial_server(int each)
    {
        var limit = new InFlightLimit(_clock);
        var largest = 0;
        for (var round = 0; round < 60; round++)
        {
            Round(limit, inFlight => inFlight * each);
            if (round > 10)
                largest = Math.Max(largest, limit.Current);
            Assert.InRange(limit.Current, InFlightLimit.Min, InFlightLimit.Max);
        }
        Assert.InRange(largest * each, 2 * each, 2_000);
    }

    [Fact]
    public void Latency_that_stays_high_with_two_in_flight_is_the_new_floor()
    {
        var limit = new InFlightLimit(_clock);
        for (var round = 0; round < 6; round++)
            Round(limit, _ => 20);
        var least = limit.Current;
        for (var round = 0; round < 300; round++)
        {
            Round(limit, _ => 600);
            least = Math.Min(least, limit.Current);
        }
        Assert.Equal(InFlightLimit.Min, least);
        Assert.InRange(limit.Current, 384, InFlightLimit.Max);
    }

    [Fact]
    public void Lost_requests_of_one_round_halve_the_limit_once_and_it_recovers_quickly()
    {
        var limit = new InFlightLimit(_clock);
        for (var round = 0; round < 3; round++)
            Round(limit, _ => 10);
        Assert.Equal(64, limit.Current);
        var sent = Send(limit, 64);
        _clock.Advance(TimeSpan.FromSeconds(10));
        foreach (var at in sent)
            limit.Lost(at);
        Assert.Equal(32, limit.Current);
        // The service is down: no request gets a response.
        for (var times = 0; times < 10; times++)
        {
            var at = Send(limit, 1)[0];
            _clock.Advance(TimeSpan.FromSeconds(1));
            limit.Lost(at);
        }
        Assert.Equal(InFlightLimit.Min, limit.Current);
        for (var round = 0; round < 4; round++)
            Round(limit, _ => 10);
        Assert.Equal(32, limit.Current);
        Round(limit, _ => 10);
        Assert.Equal(34, limit.Current);
    }

    [Fact]
    public void Responses_to_requests_sent_before_a_cut_do_not_raise_the_limit()
    {
        var limit = new InFlightLimit(_clock);
        var sent = Send(limit, 8);
        _clock.Advance(TimeSpan.FromSeconds(30));
        limit.Lost(sent[0]);
        Assert.Equal(4, limit.Current);
        foreach (var at in sent.Skip(1))
            limit.Completed(at);
        Assert.Equal(4, limit.Current);
    }

    [Fact]
    public void Limit_restarts_at_its_initial_value_after_a_pause()
    {
        var limit = new InFlightLimit(_clock);
        for (var round = 0; round < 6; round++)
            Round(limit, _ => 5);
        _clock.Advance(TimeSpan.FromSeconds(10));
        Send(limit, 1);
        Assert.Equal(InFlightLimit.First, limit.Current);
    }

    /// <summary>Sends as many as allowed at once, and completes them at once, so that all measurements are of one limit.</summary>
    private void Round(InFlightLimit limit, Func<int, int> latency, int? inFlight = null)
    {
        var sent = Send(limit, inFlight ?? limit.Current);
        _clock.Advance(TimeSpan.FromMilliseconds(latency(sent.Count)));
        foreach (var at in sent)
            limit.Completed(at);
        _clock.Advance(TimeSpan.FromMilliseconds(1));
    }

    private List<long> Send(InFlightLimit limit, int count)
    {
        var sent = new List<long>();
        for (var number = 1; number <= count; number++)
        {
            limit.Sent(number);
            sent.Add(_clock.GetTimestamp());
        }
        return sent;
    }
}
