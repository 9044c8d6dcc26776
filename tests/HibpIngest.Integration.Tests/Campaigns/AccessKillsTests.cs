using HibpIngest.Api.Settings;
using HibpIngest.Cli.Emulator;

namespace HibpIngest.Integration.Tests.Campaigns;

/// <summary>
/// Kills <c>hibp serve</c> repeatedly under load, stops the emulator for a while, and compares the responses with the
/// access log's records as counted by a separate script (access-records.mjs).
/// </summary>
public sealed class AccessKillsTests(ITestOutputHelper output) : Campaign(output)
{
    private const string DurableRoute = "/api/v3/latestbreach"; // logged before the response
    private const string BufferedRoute = "/api/v3/dataclasses"; // logged after the response, from a buffer
    private const int Connections = 50;
    private const int HeldRate = 2_000;
    private static readonly int Kills = Size(2, 20);
    private static readonly TimeSpan Outage = TimeSpan.FromSeconds(Size(5, 60));
    private static readonly TimeSpan Held = TimeSpan.FromSeconds(Size(5, 600));
    private static readonly int Buffer = new WebOptions().AccessLogBuffer;
    private static readonly TimeSpan Undisturbed = TimeSpan.FromSeconds(Size(1, 3));

    // About 2,500 per second: if a store stalls for a few seconds, as emulators do on a busy machine, the buffer still has room.
    private static readonly TimeSpan BufferedPause = TimeSpan.FromMilliseconds(10);

    private static readonly TimeSpan RefusedPause = TimeSpan.FromMilliseconds(20);

    private readonly List<string> _faults = [];

    protected override string? DataFolder => File("emulator");

    /// <summary>Publishes a breach, so that both routes have a response.</summary>
    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        WriteSample("First", 100, Seed);
        var host = await StartHostAsync();
        await SucceedAsync("drop", File("First.zip"), "--verified", "--wait");
        await host.TerminateAsync();
        // The host may have ended before it published the load.
        var published = await SucceedAsync("catalogue", "publish");
        Assert.DoesNotContain("with 0 breaches", published, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Answered_requests_are_logged_despite_kills_and_an_emulator_outage()
    {
        var random = new Random(Seed);
        Say("| kill | durable: answered | logged | buffered: answered | logged | missing |");
        Say("| ---: | ---: | ---: | ---: | ---: | ---: |");
        for (var kill = 1; kill <= Kills; kill++)
            await KillAsync(kill, TimeSpan.FromMilliseconds(random.Next(200, 3_000)));
        await StopEmulatorAsync();
        Assert.Empty(_faults);
    }

    [Fact]
    public async Task Two_thousand_requests_per_second_are_all_answered_and_logged()
    {
        var server = await ServeAsync("--open");
        var load = new AccessLoad(server.Address, DurableRoute, Connections, TimeSpan.FromSeconds(1) * Connections / HeldRate);
        using var end = new CancellationTokenSource(Held);
        await load.RunAsync(end.Token);
        await server.TerminateAsync();
        var records = await ReadAsync();
        Say($"{load}; {records.Of(load.Route, 200)} logged");
        Assert.True(load.IsOk, $"{load}");
        Assert.Equal(load.Ok, records.Of(load.Route, 200));
    }

    private async Task KillAsync(int kill, TimeSpan after)
    {
        var server = await ServeAsync("--open");
        var (durable, buffered) = Loads(server);
        var loads = Task.WhenAll(durable.RunAsync(None), buffered.RunAsync(None));
        await Task.Delay(after);
        await server.KillAsync();
        await loads;
        var records = await ReadAsync();
        var (logged, loggedBuffered) = (records.Of(durable.Route, 200), records.Of(buffered.Route, 200));
        Say($"| {kill} | {durable.Ok} | {logged} | {buffered.Ok} | {loggedBuffered} | {Math.Max(buffered.Ok - loggedBuffered, 0)} |");
        Demand(logged >= durable.Ok, $"kill {kill}: {durable.Ok - logged} answered requests of a durable route are not logged");
        Demand(logged <= durable.Ok + Connections, $"kill {kill}: {logged - durable.Ok} more requests are logged than were answered");
        Demand(
            buffered.Ok - loggedBuffered <= Buffer,
            $"kill {kill}: {buffered.Ok - loggedBuffered} requests of the buffered route are not logged");
        Demand(
            durable.Others + buffered.Others + durable.Unavailable + buffered.Unavailable == 0,
            $"kill {kill}: there were errors before the kill");
    }

    /// <summary>Stops the emulator for a while, and starts another one with its data and ports.</summary>
    private async Task StopEmulatorAsync()
    {
        var server = await ServeAsync("--open");
        var connection = Variables["HIBP_STORAGE"];
        var (before, beforeBuffered) = Loads(server);
        await AskAsync(before, beforeBuffered, Undisturbed);

        // Requests in progress may wait; after the first refusal, all are refused.
        var (going, goingBuffered) = Loads(server, RefusedPause);
        using (var end = new CancellationTokenSource())
        {
            var loads = Task.WhenAll(going.RunAsync(end.Token), goingBuffered.RunAsync(end.Token));
            await Emulators[^1].DisposeAsync();
            await Functions.Eventually.IsSoAsync(() => Task.FromResult(going.Unavailable > 0));
            await end.CancelAsync();
            await loads;
        }
        var (down, downBuffered) = Loads(server, RefusedPause);
        await AskAsync(down, downBuffered, Outage);
        await StartEmulatorAsync(new AzuriteOptions
        {
            DataFolder = DataFolder,
            BlobPort = ConnectionStrings.Endpoint(connection, "Blob").Port,
            QueuePort = ConnectionStrings.Endpoint(connection, "Queue").Port,
            TablePort = ConnectionStrings.Endpoint(connection, "Table").Port,
        });
        // Once a request of the durable route succeeds, every earlier record is durable too.
        var asked = 0;
        await Functions.Eventually.IsSoAsync(() =>
        {
            asked++;
            return AccessLoad.IsAnsweredAsync(server.Address, DurableRoute, HttpStatusCode.OK);
        });
        var first = await AccessRecords.ReadAsync(connection, File("blobs"), areRemoved: false);
        var (after, afterBuffered) = Loads(server);
        await AskAsync(after, afterBuffered, Undisturbed);
        var log = (await server.TerminateAsync()).Error;
        var last = await ReadAsync();

        Say($"before: {before}; {beforeBuffered}");
        Say($"while the emulator stops: {going}; {goingBuffered}");
        Say($"for {Outage.TotalSeconds} s without it: {down}; {downBuffered}");
        Say($"after: {after}; {afterBuffered}");
        Say("logged until it was back: " + string.Join(", ", first.Counts.Select(one => $"{one.Key}: {one.Value}")));
        Say("logged after that: "
            + string.Join(", ", last.Counts.Select(one => $"{one.Key}: {one.Value - first.Counts.GetValueOrDefault(one.Key)}")));
        Demand(before.IsOk && beforeBuffered.IsOk && after.IsOk && afterBuffered.IsOk, "there were errors while the emulator was running");
        Demand(
            down.Unavailable > 0 && down.Ok + down.Others + down.Failed == 0,
            "a durable route answered other than 503 while the access log was down");
        Demand(goingBuffered.IsOk && downBuffered.IsOk, "the buffered route stopped answering");
        Demand(going.Others + going.Failed == 0, "a response was neither 200 nor 503");
        Demand(first.Of(before.Route, 200) > before.Ok + going.Ok - 1, "requests of a durable route that were answered are not logged");
        var answeredBuffered = beforeBuffered.Ok + goingBuffered.Ok + downBuffered.Ok;
        // Refused requests have a record too if there was room.
        var lost = asked + new[] { before, beforeBuffered, going, goingBuffered, down, downBuffered }
            .Sum(load => load.Ok + load.Unavailable) - first.Counts.Values.Sum();
        Say($"responses not logged: {answeredBuffered - first.Of(downBuffered.Route, 200)} of the buffered route, {lost} of all");
        Demand(log.Contains("access log: down", StringComparison.Ordinal), "the server doesn't say that its log is down");
        Demand(
            log.Contains($"; {lost} requests were not logged", StringComparison.Ordinal),
            $"the server doesn't say that {lost} requests were not logged, but: {log}");
        Demand(
            first.Of(downBuffered.Route, 200) >= Math.Min(answeredBuffered, beforeBuffered.Ok + (Buffer / 4)),
            "requests that fitted into the buffer are not logged");
        foreach (var load in (AccessLoad[])[after, afterBuffered])
        {
            var logged = last.Of(load.Route, 200) - first.Of(load.Route, 200);
            Demand(logged == load.Ok, $"{load.Route}, the emulator being back: {load.Ok} answered, {logged} logged");
        }
    }

    private static (AccessLoad Durable, AccessLoad Buffered) Loads(HibpProcess server, TimeSpan pause = default) => (
        new AccessLoad(server.Address, DurableRoute, Connections, pause),
        new AccessLoad(server.Address, BufferedRoute, Connections / 2, pause > BufferedPause ? pause : BufferedPause));

    private static async Task AskAsync(AccessLoad durable, AccessLoad buffered, TimeSpan held)
    {
        using var end = new CancellationTokenSource(held);
        await Task.WhenAll(durable.RunAsync(end.Token), buffered.RunAsync(end.Token));
    }

    private Task<AccessRecords> ReadAsync() => AccessRecords.ReadAsync(Variables["HIBP_STORAGE"], File("blobs"), areRemoved: true);

    private void Demand(bool condition, string fault)
    {
        if (!condition)
            _faults.Add(fault);
    }
}
