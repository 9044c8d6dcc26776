using HibpIngest.Cli.Emulator;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Compares our access log for a small document with the four published ways of logging, and with servers that don't
/// log, in turns. Each measurement has a server of its own, and the records in the store are counted afterwards, by
/// distinct id.
/// </summary>
internal sealed class AccessBenchmark(string folder, string? sql)
{
    private const int Many = 2_000;
    private const int Rate = 2_000;
    // Slow options respond on a connection only every few seconds.
    private const int RoundSeconds = 15;
    // Until then, the runtime compiles what runs most, in up to a sixth of the CPU time.
    private const int WarmUpSeconds = 10;
    private const int BurstSeconds = 10;
    private const int KillSeconds = 4;
    private const int KillConnections = 500;

    // The steady rate is spread over these connections: each sends a request every 50 ms.
    private const int SteadyConnections = 100;

    private const double LeastOfQueue = 15;
    private const double LeastOfOff = 0.3;
    private const double MaxOfOff = 1.5;
    private const double MoreThanOff = 200;
    private const double MaxGrowth = 1.2;
    private const double MoreMemory = 32;

    private static readonly (string Option, double Rate)[] Published = [("sql", 554), ("task", 547), ("queue", 880), ("client", 2_109)];

    private readonly List<string> _misses = [];
    private readonly Dictionary<string, Row> _rows = [];
    private string _ours = "";
    private string _queue = "";
    private int _files;

    /// <summary>Prints the tables; returns false if a requirement is missed.</summary>
    /// <param name="seconds">Duration of the steady rate.</param>
    /// <param name="rounds">Rounds of all options.</param>
    /// <param name="drawings">The folder for figures and plots; null: none.</param>
    public async Task<bool> RunAsync(int seconds, int rounds, string? drawings)
    {
        if (!await HttpLoad.IsInstalledAsync())
            return false;
        foreach (var option in (string[])
            ["none", "off", "sql", "task", .. sql is null ? (string[])[] : ["sqlserver", "sqlserver-task"], "queue", "client", "ours"])
            _rows[option] = new Row();
        // Two emulators, because one is single-threaded: the queue's messages must not slow down the log's blobs, nor
        // a client's posts its gets.
        await using var log = await StartAsync("log");
        await using var queue = await StartAsync("queue");
        (_ours, _queue) = (log.ConnectionString, queue.ConnectionString);
        if (sql is null)
            await MeasureAsync(seconds, rounds, null);
        else
            await SqlServerBenchmark.WithDatabaseAsync(sql, connection => MeasureAsync(seconds, rounds, connection));
        if (drawings is not null)
            await DrawAsync(drawings);
        return Ended();
    }

    /// <summary>Measures our log at the steady rate; returns false if a requirement is missed.</summary>
    /// <param name="seconds">Duration.</param>
    public async Task<bool> HoldAsync(int seconds)
    {
        if (!await HttpLoad.IsInstalledAsync())
            return false;
        await using var log = await StartAsync("log");
        _ours = log.ConnectionString;
        _rows["ours"] = new Row();
        await MeasureSteadyAsync(seconds, null);
        return Ended();
    }

    private bool Ended()
    {
        foreach (var miss in _misses)
            Console.Error.WriteLine($"missed: {miss}");
        return _misses.Count == 0;
    }

    private async Task MeasureAsync(int seconds, int rounds, string? server)
    {
        await MeasureThroughputAsync(rounds, server);
        await MeasureBurstsAsync(rounds);
        await MeasureSteadyAsync(seconds, server);
        await MeasureKillsAsync(server);
    }

    private async Task MeasureThroughputAsync(int rounds, string? server)
    {
        string[] options = [.. _rows.Keys];
        for (var round = 0; round < rounds; round++)
        {
            foreach (var option in round % 2 == 0 ? options : options.Reverse())
            {
                var row = _rows[option];
                HttpLoad load;
                var store = StoreOf(option, server);
                if (option == "client")
                {
                    load = await ClientLog.RunAsync(_ours, _queue, Many, RoundSeconds);
                }
                else
                {
                    await using var one = await AccessServer.StartAsync(option, store);
                    await HttpLoad.RunAsync(one.Address + AccessServer.Route, Many, WarmUpSeconds);
                    load = await HttpLoad.RunAsync(one.Address + AccessServer.Route, Many, RoundSeconds);
                }
                if (option is "queue" or "ours")
                    await CountAsync(option, store); // discards the records before the next measurement
                row.Rates.Add(load.Rate);
                row.Medians.Add(load.Median);
                row.Tails.Add(load.Tail);
                row.Errors += load.Errors;
            }
        }
        Console.WriteLine($"{Many:N0} connections, median of {rounds} rounds:");
        Console.WriteLine("| option | requests/s | of none | of off | lowest-highest | of queue | p50 in ms | p99 in ms | errors |");
        Console.WriteLine("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        foreach (var (option, row) in _rows)
            Console.WriteLine(
                $"| {option} | {row.Rates.Median():N0} | {RatiosTo(row, "none").Median():F3} | {RatiosTo(row, "off").Median():F3} | "
                + $"{RatiosTo(row, "off").Min():F3}-{RatiosTo(row, "off").Max():F3} | {RatiosTo(row, "queue").Median():F1} | "
                + $"{row.Medians.Median():N0} | {row.Tails.Median():N0} | {row.Errors} |");
        Demand(RatiosTo(_rows["ours"], "queue").Median(), LeastOfQueue, "ours of queue, requests/s");
        Demand(RatiosTo(_rows["ours"], "off").Median(), LeastOfOff, "ours of off, requests/s");
        if (_rows["ours"].Errors > 0)
            _misses.Add($"{Many:N0} connections, ours: {_rows["ours"].Errors} errors");
    }

    /// <summary>Sends one request on each connection at once, every second.</summary>
    private async Task MeasureBurstsAsync(int rounds)
    {
        string[] options = ["off", "ours"];
        for (var round = 0; round < rounds; round++)
        {
            foreach (var option in round % 2 == 0 ? options : options.Reverse())
            {
                await using var one = await AccessServer.StartAsync(option, StoreOf(option, null));
                var load = await HttpLoad.RunAsync(
                    one.Address + AccessServer.Route, Many, BurstSeconds, perConnection: 1, warmUpSeconds: 2);
                _rows[option].BurstTails.Add(load.Tail);
                if (load.Errors > 0)
                    _misses.Add($"bursts, {option}: {load.Errors} errors");
            }
        }
        await CountAsync("ours", _ours);
        var (off, ours) = (_rows["off"].BurstTails.Median(), _rows["ours"].BurstTails.Median());
        var limit = (MaxOfOff * off) + MoreThanOff;
        Console.WriteLine(
            $"bursts of {Many:N0} each second, p99 in ms: off {off:N0}, ours {ours:N0}, {limit:N0} at most: "
            + $"{(ours <= limit ? "held" : "missed")}");
        if (!(ours <= limit))
            _misses.Add($"bursts: a p99 of {ours:N0} ms, {limit:N0} at most");
    }

    private async Task MeasureSteadyAsync(int seconds, string? server)
    {
        Console.WriteLine($"{Rate:N0} requests a second for {seconds} s:");
        Console.WriteLine("| option | requests/s | p50 in ms | p99 in ms | errors | answered | records | MiB at start, quarter, end |");
        Console.WriteLine("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |");
        foreach (var option in _rows.Keys.Where(option => option != "client"))
        {
            var store = StoreOf(option, server);
            HttpLoad load;
            double start, quarter, end;
            await using (var one = await AccessServer.StartAsync(option, store))
            {
                start = one.MemoryMiB;
                var loading = HttpLoad.RunAsync(
                    one.Address + AccessServer.Route, SteadyConnections, seconds, Rate / SteadyConnections);
                await Task.Delay(TimeSpan.FromSeconds(seconds / 4.0));
                quarter = one.MemoryMiB;
                load = await loading;
                end = one.MemoryMiB;
            }
            var records = await CountAsync(option, store);
            Console.WriteLine(
                $"| {option} | {load.Rate:N0} | {load.Median:N1} | {load.Tail:N1} | {load.Errors} | {load.Ok} | {records} | "
                + $"{start:N0}, {quarter:N0}, {end:N0} |");
            if (option != "ours")
                continue;
            if (load.Errors > 0 || load.Rate < 0.98 * Rate)
                _misses.Add($"{Rate:N0} a second, ours: {load.Rate:N0}, and {load.Errors} errors");
            if (records < load.Ok || records > load.Ok + SteadyConnections)
                _misses.Add($"{Rate:N0} a second, ours: {load.Ok} answered, {records} records");
            if (end > (MaxGrowth * quarter) + MoreMemory)
                _misses.Add($"{Rate:N0} a second, ours: {end:N0} MiB at the end, {quarter:N0} at a quarter");
        }
    }

    private async Task MeasureKillsAsync(string? server)
    {
        Console.WriteLine($"killed after {KillSeconds} s under {KillConnections} connections:");
        Console.WriteLine("| option | answered | records | lost |");
        Console.WriteLine("| --- | ---: | ---: | ---: |");
        foreach (var option in _rows.Keys.Where(option => option is not ("none" or "off" or "client")))
        {
            var store = StoreOf(option, server);
            HttpLoad load;
            await using (var one = await AccessServer.StartAsync(option, store))
            {
                var loading = HttpLoad.RunAsync(one.Address + AccessServer.Route, KillConnections, KillSeconds + 2);
                await Task.Delay(TimeSpan.FromSeconds(KillSeconds));
                await one.KillAsync();
                load = await loading;
            }
            var records = await CountAsync(option, store) ?? 0;
            var lost = Math.Max(load.Ok - records, 0);
            Console.WriteLine($"| {option} | {load.Ok} | {records} | {lost} |");
            if (option == "ours" && lost > 0)
                _misses.Add($"killed, ours: {lost} answered requests are not logged");
        }
    }

    private Task<AzuriteEmulator> StartAsync(string name) => AzuriteEmulator.StartAsync(
        new AzuriteOptions { DataFolder = Path.Combine(folder, name) }, CancellationToken.None);

    private string StoreOf(string option, string? server) => option switch
    {
        "sql" or "task" => Path.Combine(folder, $"requests-{++_files}.db"),
        "sqlserver" or "sqlserver-task" => server!,
        "queue" => PlainAccessLog.QueueOf(_queue, $"requests-{++_files}"),
        "client" => _queue,
        _ => _ours,
    };

    /// <summary>Returns the number of records.</summary>
    /// <returns>Null if the option doesn't log.</returns>
    private async Task<long?> CountAsync(string option, string store)
    {
        if (option is "none" or "off")
            return null;
        return option != "ours" ? await PlainAccessLog.CountAsync(option, store)
            : (await AccessRecords.ReadAsync(store, Path.Combine(folder, "blobs"), areRemoved: true)).Of(AccessServer.Route, 200);
    }

    private List<double> RatiosTo(Row row, string other) => [.. row.Rates.Zip(_rows[other].Rates, (left, right) => left / right)];

    private void Demand(double ratio, double least, string what)
    {
        Console.WriteLine($"{what}: {ratio:F2}, {least} at least: {(ratio >= least ? "held" : "missed")}");
        if (!(ratio >= least))
            _misses.Add($"{what}: {ratio:F2}, {least} at least");
    }

    private async Task DrawAsync(string drawings)
    {
        Directory.CreateDirectory(drawings);
        await File.WriteAllTextAsync(Path.Combine(drawings, "access-requests.svg"), BarChart.Draw(
            $"Requests a second with {Many:N0} connections (pale: published, on ten instances)",
            [.. _rows.Select(one => (one.Key, one.Value.Rates.Median(), false)),
                .. Published.Select(one => ($"{one.Option}, published", one.Rate, true))]));
        await File.WriteAllTextAsync(Path.Combine(drawings, "access-p99.svg"), BarChart.Draw(
            $"p99 in ms with {Many:N0} connections", [.. _rows.Select(one => (one.Key, one.Value.Tails.Median(), false))]));
    }

    /// <summary>The figures of an option.</summary>
    private sealed class Row
    {
        public List<double> Rates { get; } = [];

        public List<double> Medians { get; } = [];

        public List<double> Tails { get; } = [];

        public List<double> BurstTails { get; } = [];

        public long Errors { get; set; }
    }
}
