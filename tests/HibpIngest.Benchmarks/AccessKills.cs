using System.Globalization;
using System.Net;
using HibpIngest.Api.Settings;
using HibpIngest.Cli.Emulator;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Kills the API with its access log on the emulator repeatedly under load, stops the emulator for a while, and
/// compares the responses with the log's records as counted by a separate script (access-records.mjs).
/// </summary>
internal sealed class AccessKills(string folder, Action<string> say)
{
    private const int Connections = 50;
    private const int HeldRate = 2_000;
    private static readonly int Buffer = new WebOptions().AccessLogBuffer;
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan Behind = TimeSpan.FromSeconds(3);

    // About 2,500 per second: if a store stalls for a few seconds, as emulators do on a busy machine, the buffer still has room.
    private static readonly TimeSpan BehindPause = TimeSpan.FromMilliseconds(10);

    private static readonly TimeSpan TestTimeout = TimeSpan.FromMinutes(5);

    private readonly List<string> _faults = [];

    /// <summary>Prints the result; returns false if a requirement is missed.</summary>
    /// <param name="kills">Number of kills.</param>
    /// <param name="outage">How long the emulator is stopped.</param>
    /// <param name="seed">Determines the moments.</param>
    public async Task<bool> RunAsync(int kills, TimeSpan outage, int seed)
    {
        say($"seed {seed}");
        var random = new Random(seed);
        var emulator = await StartAsync(new AzuriteOptions { DataFolder = Path.Combine(folder, "emulator") });
        try
        {
            say("| kill | durable: answered | logged | behind: answered | logged | missing |");
            say("| ---: | ---: | ---: | ---: | ---: | ---: |");
            for (var kill = 1; kill <= kills; kill++)
                await KillAsync(emulator.ConnectionString, kill, TimeSpan.FromMilliseconds(random.Next(200, 3_000)));
            await using var server = await AccessServer.StartAsync("ours", emulator.ConnectionString);
            emulator = await StopAWhileAsync(emulator, server, outage);
        }
        finally
        {
            await emulator.DisposeAsync();
        }
        return Ended();
    }

    /// <summary>Sends about 2,000 requests per second: each must get a response and be logged.</summary>
    public async Task<bool> HoldAsync(TimeSpan held)
    {
        await using var emulator = await StartAsync(new AzuriteOptions { DataFolder = Path.Combine(folder, "emulator") });
        AccessLoad load;
        await using (var server = await AccessServer.StartAsync("ours", emulator.ConnectionString))
        {
            load = new AccessLoad(
                server.Address, AccessServer.DurableRoute, Connections, TimeSpan.FromSeconds(1) * Connections / HeldRate);
            using var end = new CancellationTokenSource(held);
            await load.RunAsync(end.Token);
        }
        var records = await ReadAsync(emulator.ConnectionString);
        say($"{load.Ok} answered, {records.Of(load.Route, 200)} logged, {load.Others + load.Failed + load.Unavailable} errors");
        Demand(load.Ok > 0 && load.Others + load.Failed + load.Unavailable == 0, "there were errors");
        Demand(records.Of(load.Route, 200) == load.Ok, "the log has not what was answered");
        return Ended();
    }

    private static Task<AzuriteEmulator> StartAsync(AzuriteOptions options) =>
        AzuriteEmulator.StartAsync(options, CancellationToken.None);

    private async Task KillAsync(string connection, int kill, TimeSpan after)
    {
        await using var server = await AccessServer.StartAsync("ours", connection);
        var (durable, behind) = Loads(server.Address);
        var loads = Task.WhenAll(durable.RunAsync(CancellationToken.None), behind.RunAsync(CancellationToken.None));
        await Task.Delay(after);
        await server.KillAsync();
        await loads;
        var records = await ReadAsync(connection);
        var (logged, loggedBehind) = (records.Of(durable.Route, 200), records.Of(behind.Route, 200));
        say($"| {kill} | {durable.Ok} | {logged} | {behind.Ok} | {loggedBehind} | {Math.Max(behind.Ok - loggedBehind, 0)} |");
        Demand(logged >= durable.Ok, $"kill {kill}: {durable.Ok - logged} answered requests of a durable route are not logged");
        Demand(logged <= durable.Ok + Connections, $"kill {kill}: {logged - durable.Ok} more are logged than were answered");
        Demand(behind.Ok - loggedBehind <= Buffer, $"kill {kill}: {behind.Ok - loggedBehind} of those behind are not logged");
        Demand(durable.Others + behind.Others + durable.Unavailable + behind.Unavailable == 0, $"kill {kill}: there were errors before it");
    }

    /// <summary>Stops the emulator for a while; returns one that continues with its data.</summary>
    private async Task<AzuriteEmulator> StopAWhileAsync(AzuriteEmulator emulator, AccessServer server, TimeSpan outage)
    {
        var connection = emulator.ConnectionString;
        var (before, beforeBehind) = Loads(server.Address);
        await AskAsync(before, beforeBehind, Behind);

        // Requests in progress may wait; after the first refusal, all are refused.
        var (going, goingBehind) = Loads(server.Address, TimeSpan.FromMilliseconds(20));
        using (var end = new CancellationTokenSource())
        {
            var loads = Task.WhenAll(going.RunAsync(end.Token), goingBehind.RunAsync(end.Token));
            await emulator.DisposeAsync();
            await UntilAsync(() => Task.FromResult(going.Unavailable > 0));
            await end.CancelAsync();
            await loads;
        }
        var (down, downBehind) = Loads(server.Address, TimeSpan.FromMilliseconds(20));
        await AskAsync(down, downBehind, outage);
        emulator = await StartAsync(new AzuriteOptions
        {
            DataFolder = Path.Combine(folder, "emulator"),
            BlobPort = PortOf(connection, "BlobEndpoint="),
            QueuePort = PortOf(connection, "QueueEndpoint="),
            TablePort = PortOf(connection, "TableEndpoint="),
        });
        // A request of the durable route: everything before it is durable too.
        var asked = 0;
        await UntilAsync(() =>
        {
            asked++;
            return AccessLoad.IsAnsweredAsync(server.Address, AccessServer.DurableRoute, HttpStatusCode.OK);
        });
        var first = await AccessRecords.ReadAsync(connection, Path.Combine(folder, "blobs"), areRemoved: false);
        var (after, afterBehind) = Loads(server.Address);
        await AskAsync(after, afterBehind, Behind);
        var said = await server.StopAsync();
        var last = await ReadAsync(connection);

        say($"before: {Told(before)}; {Told(beforeBehind)}");
        say($"while the emulator stops: {Told(going)}; {Told(goingBehind)}");
        say($"for {outage.TotalSeconds} s without it: {Told(down)}; {Told(downBehind)}");
        say($"after: {Told(after)}; {Told(afterBehind)}");
        say("logged until it was back: "
            + string.Join(", ", first.Counts.Select(one => $"{one.Key}: {one.Value}")));
        say("logged behind that: "
            + string.Join(", ", last.Counts.Select(one => $"{one.Key}: {one.Value - first.Counts.GetValueOrDefault(one.Key)}")));
        Demand(IsOk(before) && IsOk(beforeBehind) && IsOk(after) && IsOk(afterBehind), "there were errors with the emulator there");
        Demand(down.Unavailable > 0 && down.Ok + down.Others + down.Failed == 0, "a durable route answered other than 503 without a log");
        Demand(IsOk(goingBehind) && IsOk(downBehind), "a route that is logged behind did not go on answering");
        Demand(going.Others + going.Failed == 0, "something else than 200 and 503 was answered");
        Demand(first.Of(before.Route, 200) > before.Ok + going.Ok - 1, "requests of a durable route that were answered are not logged");
        var missing = beforeBehind.Ok + goingBehind.Ok + downBehind.Ok - first.Of(downBehind.Route, 200);
        // Refused requests have a record too if there was room.
        var lost = asked + new[] { before, beforeBehind, going, goingBehind, down, downBehind }.Sum(load => load.Ok + load.Unavailable)
            - first.Counts.Values.Sum();
        say($"not logged of those behind: {missing}, of all: {lost}");
        Demand(said.Contains($"[{EventIds.AccessLogDown}]", StringComparison.Ordinal), "the server doesn't say that its log is down");
        Demand(
            said.Contains($"; {lost} requests were not logged", StringComparison.Ordinal),
            $"the server doesn't say that {lost} requests were not logged, but: {said}");
        Demand(
            first.Of(downBehind.Route, 200) >= Math.Min(beforeBehind.Ok + goingBehind.Ok + downBehind.Ok, beforeBehind.Ok + Buffer / 4),
            "what there was room for is not logged");
        foreach (var load in (AccessLoad[])[after, afterBehind])
        {
            var logged = last.Of(load.Route, 200) - first.Of(load.Route, 200);
            Demand(logged == load.Ok, $"{load.Route}, the emulator being back: {load.Ok} answered, {logged} logged");
        }
        return emulator;
    }

    private static (AccessLoad Durable, AccessLoad Behind) Loads(string server, TimeSpan pause = default) => (
        new AccessLoad(server, AccessServer.DurableRoute, Connections, pause),
        new AccessLoad(server, AccessServer.BehindRoute, Connections / 2, pause > BehindPause ? pause : BehindPause));

    private static async Task AskAsync(AccessLoad durable, AccessLoad behind, TimeSpan held)
    {
        using var end = new CancellationTokenSource(held);
        await Task.WhenAll(durable.RunAsync(end.Token), behind.RunAsync(end.Token));
    }

    private static bool IsOk(AccessLoad load) => load.Ok > 0 && load.Unavailable + load.Others + load.Failed == 0;

    private static string Told(AccessLoad load) =>
        $"{load.Route} {load.Ok} of 200, {load.Unavailable} of 503, {load.Others} others, {load.Failed} failed";

    private static int PortOf(string connection, string endpoint) => new Uri(
        connection.Split(';').First(part => part.StartsWith(endpoint, StringComparison.Ordinal))[endpoint.Length..]).Port;

    private static async Task UntilAsync(Func<Task<bool>> isSo)
    {
        using var timeout = new CancellationTokenSource(TestTimeout);
        while (!await isSo())
            await Task.Delay(PollInterval, timeout.Token);
    }

    private Task<AccessRecords> ReadAsync(string connection) =>
        AccessRecords.ReadAsync(connection, Path.Combine(folder, "blobs"), areRemoved: true);

    private void Demand(bool isSo, string otherwise)
    {
        if (!isSo)
            _faults.Add(otherwise);
    }

    private bool Ended()
    {
        foreach (var fault in _faults)
            say($"missed: {fault}");
        say(string.Create(CultureInfo.InvariantCulture, $"{_faults.Count} missed"));
        return _faults.Count == 0;
    }
}
