namespace HibpIngest.Integration.Tests.AzureStorage;

/// <summary>Simulates the benchmark <c>-- busy</c> in virtual time: a table service that slows down instead of refusing.</summary>
public sealed class BusyServiceTests(ITestOutputHelper output)
{
    private const int TenSlices = 160;
    private static readonly TimeSpan Clients = TimeSpan.FromSeconds(30);

    /// <summary>Models the emulator: fixed costs per request and per entity, multiplied by a slowdown.</summary>
    private static Func<int, TimeSpan, TimeSpan> Emulator(double times) =>
        (entities, _) => TimeSpan.FromMilliseconds(times * (0.6 + (0.05 * entities)));

    [Theory]
    [InlineData(1)]
    [InlineData(10)]
    [InlineData(50)]
    [InlineData(200)]
    public void Throttled_writes_are_nearly_as_fast_as_with_the_best_fixed_limit(int times)
    {
        var ours = Write(times, TenSlices, limited: true);
        var best = new[] { 1, 2, 4, 16, 64, TenSlices }.Max(
            inFlight => Write(times, inFlight, limited: false).EntitiesSince(TimeSpan.Zero));
        output.WriteLine($"{ours.EntitiesSince(TimeSpan.Zero)} entities, {best} with the best fixed number in flight; "
            + $"99% of the answers within {ours.SlowSince(Seconds(20))}");
        Assert.InRange(ours.EntitiesSince(TimeSpan.Zero), 0.8 * best, double.MaxValue);
        Assert.InRange(ours.SlowSince(Seconds(20)), TimeSpan.Zero, Seconds(3));
    }

    [Fact]
    public void Writes_without_a_limit_stall()
    {
        var client = Write(times: 200, TenSlices, limited: false);
        Assert.InRange(client.EntitiesSince(TimeSpan.Zero), 0, 2_000);
        Assert.Equal(0, client.EntitiesSince(Seconds(60)));
    }

    [Theory]
    [InlineData(40, 1)]
    [InlineData(300, 4)]
    public void Limit_reaches_the_maximum_to_a_distant_region(int milliseconds, int within)
    {
        var time = new VirtualTime();
        var random = new Random(1);
        // One request in a hundred takes ten times as long; the others take 0.5 to 1.5 times the mean.
        var service = new BusyService(time, int.MaxValue, (_, _) => TimeSpan.FromMilliseconds(
            milliseconds * (0.5 + random.NextDouble()) * (random.Next(100) == 0 ? 10 : 1)));
        var client = Run(time, service, 384, Seconds(30));
        Assert.InRange(client.Reached(380), TimeSpan.Zero, Seconds(within));
        Assert.InRange(client.MaxInFlightSince(Seconds(25)), 380, 384);
    }

    [Fact]
    public void Throughput_recovers_after_an_outage()
    {
        var time = new VirtualTime();
        var service = new BusyService(time, 1, Emulator(10)) { IsDown = now => now > Seconds(20) && now < Seconds(40) };
        var client = Run(time, service, TenSlices, Seconds(60));
        var (before, after) = (client.EntitiesSince(TimeSpan.Zero) - client.EntitiesSince(Seconds(20)), client.EntitiesSince(Seconds(42)));
        Assert.InRange(after / 18.0, 0.9 * before / 20, double.MaxValue);
    }

    [Theory]
    [InlineData(10, 2)]
    [InlineData(10, 5)]
    [InlineData(50, 3)]
    public void Processes_started_one_after_another_share_the_service(int times, int processes)
    {
        var time = new VirtualTime();
        var service = new BusyService(time, 1, Emulator(times)) { Timeout = Clients };
        var writing = new List<Task<BusyClient>>();
        time.Run(async () =>
        {
            for (var process = 0; process < processes; process++)
            {
                writing.Add(service.WriteAsync(TenSlices, Seconds(200)));
                await time.PauseAsync(Seconds(10));
            }
            await Task.WhenAll(writing);
        });
        var shares = writing.Select(one => one.Result.EntitiesSince(Seconds(100))).ToList();
        output.WriteLine(string.Join(", ", shares));
        Assert.All(shares, share => Assert.InRange(share * processes / (double)shares.Sum(), 0.5, 2));
        Assert.All(writing, one => Assert.InRange(one.Result.SlowSince(Seconds(100)), TimeSpan.Zero, Seconds(3)));
        Assert.Equal(0, service.Lost);
    }

    private static BusyClient Write(int times, int inFlight, bool limited)
    {
        var time = new VirtualTime();
        return Run(time, new BusyService(time, 1, Emulator(times)) { Timeout = Clients }, inFlight, Seconds(120), limited);
    }

    private static BusyClient Run(VirtualTime time, BusyService service, int inFlight, TimeSpan until, bool limited = true)
    {
        BusyClient? client = null;
        time.Run(async () => client = await service.WriteAsync(inFlight, until, limited));
        return client!;
    }

    private static TimeSpan Seconds(double seconds) => TimeSpan.FromSeconds(seconds);
}
