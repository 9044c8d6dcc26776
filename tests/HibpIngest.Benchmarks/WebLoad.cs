using Microsoft.AspNetCore.Http;

namespace HibpIngest.Benchmarks;

/// <summary>Runs servers and clients on one machine, measures ours and the bare one in turns, and prints a row for each.</summary>
/// <param name="rounds">Rounds of each; the median of their ratios counts.</param>
/// <param name="requests">Requests per round.</param>
internal sealed class WebLoad(int rounds, int requests) : IAsyncDisposable
{
    /// <summary>Concurrent requests.</summary>
    private const int Connections = 32;

    /// <summary>Compiling to the end takes the runtime seconds while both processors are busy, the longer the more code there is.</summary>
    private const int WarmingRounds = 3;

    private readonly List<LocalServer> _servers = [];
    private readonly List<string> _misses = [];

    /// <summary>Creates a client with this many connections that doesn't decompress responses.</summary>
    public static HttpClient CreateClient() => new(
        new SocketsHttpHandler { MaxConnectionsPerServer = Connections, UseProxy = false, AutomaticDecompression = default });

    public static void PrintHead()
    {
        Console.WriteLine("| what | bare | ours | ratio, median of rounds | lowest-highest | limit |");
        Console.WriteLine("| --- | ---: | ---: | ---: | ---: | --- |");
    }

    /// <summary>Returns whether every limit was kept; prints the others.</summary>
    public bool Ended()
    {
        foreach (var miss in _misses)
            Console.Error.WriteLine($"missed: {miss}");
        return _misses.Count == 0;
    }

    /// <summary>Starts a server with only Kestrel, which is stopped on disposal.</summary>
    /// <returns>Its address.</returns>
    public async Task<string> StartAsync(RequestDelegate answer)
    {
        var server = await LocalServer.StartAsync(answer);
        _servers.Add(server);
        return server.Address;
    }

    /// <summary>Measures HTTP requests over all connections.</summary>
    /// <param name="what">The row's name.</param>
    /// <param name="client">Sends the requests.</param>
    /// <param name="bare">Address of the Nth request to the bare server.</param>
    /// <param name="ours">Address of the Nth request to ours.</param>
    /// <param name="leastThroughput">Required share of the bare throughput; null: only printed.</param>
    /// <param name="maxLatency">The largest p99, as a multiple of the bare one; null: not checked.</param>
    public async Task MeasureAsync(
        string what, HttpClient client, Func<int, string> bare, Func<int, string> ours, double? leastThroughput, double? maxLatency)
    {
        var (bareRates, ourRates, bareTails, ourTails) = (new List<double>(), new List<double>(), new List<double>(), new List<double>());
        for (var round = -WarmingRounds; round < rounds; round++)
        {
            var (rate, tail) = await LoadAsync(client, bare);
            var (ourRate, ourTail) = await LoadAsync(client, ours);
            if (round < 0)
                continue;
            bareRates.Add(rate);
            ourRates.Add(ourRate);
            bareTails.Add(tail);
            ourTails.Add(ourTail);
        }
        RowAtLeast($"{what}, requests/s", bareRates, ourRates, leastThroughput);
        if (maxLatency is not null)
            RowAtMost($"{what}, p99 in µs", bareTails, ourTails, maxLatency);
    }

    /// <summary>Runs one of each in turns, so that whatever slows the machine down slows both.</summary>
    /// <param name="what">The row's name.</param>
    /// <param name="bare">Runs the Nth bare call.</param>
    /// <param name="ours">Runs the Nth call of ours.</param>
    /// <param name="maxLatency">The largest p99, as a multiple of the bare one; null: only printed.</param>
    /// <param name="printsMedian">Prints the median too.</param>
    public async Task CompareAsync(
        string what, Func<int, Task> bare, Func<int, Task> ours, double? maxLatency, bool printsMedian = false)
    {
        var (bares, own, bareMedians, ownMedians) = (new List<double>(), new List<double>(), new List<double>(), new List<double>());
        for (var round = -1; round < rounds; round++)
        {
            var (left, right) = (new double[requests], new double[requests]);
            for (var i = 0; i < requests; i++)
            {
                left[i] = await TimeAsync(bare, i);
                right[i] = await TimeAsync(ours, i);
            }
            if (round < 0)
                continue; // warm-up
            bares.Add(left.Percentile(99));
            own.Add(right.Percentile(99));
            bareMedians.Add(left.Percentile(50));
            ownMedians.Add(right.Percentile(50));
        }
        if (printsMedian)
            RowAtMost($"{what}, p50 in µs", bareMedians, ownMedians, null);
        RowAtMost($"{what}, p99 in µs", bares, own, maxLatency);
    }

    /// <summary>Compares processor time in alternating blocks. It covers the whole process, and so the server that both use.</summary>
    public async Task CompareProcessorAsync(string what, Func<int, Task> bare, Func<int, Task> ours)
    {
        var (bares, own) = (new List<double>(), new List<double>());
        for (var round = -1; round < rounds; round++)
        {
            var left = await ProcessorAsync(bare);
            var right = await ProcessorAsync(ours);
            if (round < 0)
                continue;
            bares.Add(left);
            own.Add(right);
        }
        RowAtMost($"{what}, µs of CPU", bares, own, null);
    }

    /// <summary>Prints rates; ours must reach this share of the bare ones.</summary>
    public void RowAtLeast(string what, List<double> bare, List<double> ours, double? least) => Row(
        what, bare, ours, ratio => least is null || ratio >= least,
        least is null ? "" : $"{least:F1} at least");

    /// <summary>Prints times; ours may be at most this multiple of the bare ones.</summary>
    public void RowAtMost(string what, List<double> bare, List<double> ours, double? limit) => Row(
        what, bare, ours, ratio => limit is null || ratio <= limit,
        limit is null ? "" : $"{limit:F1} at most");

    /// <summary>Sends 2,000 requests per second with h2load, if it is installed: none may fail.</summary>
    public async Task HoldAsync(IEnumerable<string> addresses, IEnumerable<string> headers, int seconds)
    {
        if (!await HttpLoad.IsInstalledAsync())
            return;
        var list = Path.GetTempFileName();
        try
        {
            await File.WriteAllLinesAsync(list, addresses);
            var (output, _) = await ExternalProgram.RunAsync("h2load", ["--h1", "--rps", "100", "-c", "20", "-t", "1", "-D", $"{seconds}",
                "-i", list, .. headers.SelectMany(header => (string[])["-H", header])]);
            foreach (var line in output.Split('\n').Where(line => line.StartsWith("finished", StringComparison.Ordinal)
                || line.StartsWith("requests:", StringComparison.Ordinal) || line.StartsWith("status codes:", StringComparison.Ordinal)
                || line.Contains("time for request", StringComparison.Ordinal)))
                Console.WriteLine(line.Trim());
            if (!output.Contains(" 0 failed, 0 errored, 0 timeout", StringComparison.Ordinal)
                || !output.Contains(" 0 4xx, 0 5xx", StringComparison.Ordinal))
                _misses.Add("2,000 a second: there were errors");
        }
        finally
        {
            File.Delete(list);
        }
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var server in _servers)
            await server.DisposeAsync();
    }

    private static async Task<double> TimeAsync(Func<int, Task> call, int i)
    {
        var began = Stopwatch.GetTimestamp();
        await call(i);
        return Stopwatch.GetElapsedTime(began).TotalMicroseconds;
    }

    private async Task<double> ProcessorAsync(Func<int, Task> call)
    {
        var began = Environment.CpuUsage.TotalTime;
        for (var i = 0; i < requests; i++)
            await call(i);
        return (Environment.CpuUsage.TotalTime - began).TotalMicroseconds / requests;
    }

    private void Row(string what, List<double> bare, List<double> ours, Func<double, bool> isWithin, string limit)
    {
        var ratios = bare.Zip(ours, (left, right) => right / left).ToList();
        var ratio = ratios.Median();
        Console.WriteLine(
            $"| {what} | {bare.Median():N0} | {ours.Median():N0} | {ratio:F2} | {ratios.Min():F2}-{ratios.Max():F2} | {limit} |");
        if (!isWithin(ratio))
            _misses.Add($"{what}: {ratio:F2}, {limit}");
    }

    /// <summary>Sends requests over all connections, one after another on each.</summary>
    private async Task<(double Rate, double Tail)> LoadAsync(HttpClient client, Func<int, string> address)
    {
        var cpu = Environment.CpuUsage.TotalTime;
        var times = new double[requests];
        var next = -1;
        var began = Stopwatch.GetTimestamp();
        await Task.WhenAll(Enumerable.Range(0, Connections).Select(_ => Task.Run(async () =>
        {
            var buffer = new byte[256 * 1024];
            for (var i = Interlocked.Increment(ref next); i < times.Length; i = Interlocked.Increment(ref next))
            {
                var sent = Stopwatch.GetTimestamp();
                using var response = await client.GetAsync(address(i), HttpCompletionOption.ResponseHeadersRead);
                response.EnsureSuccessStatusCode();
                await using var body = await response.Content.ReadAsStreamAsync();
                while (await body.ReadAsync(buffer) > 0)
                {
                    // To its end.
                }
                times[i] = Stopwatch.GetElapsedTime(sent).TotalMicroseconds;
            }
        })));
        var rate = times.Length / Stopwatch.GetElapsedTime(began).TotalSeconds;
        Console.Error.WriteLine(
            $"{address(0)}: {rate:N0}/s, each {(Environment.CpuUsage.TotalTime - cpu).TotalMicroseconds / times.Length:N0} µs of CPU");
        return (rate, times.Percentile(99));
    }
}
