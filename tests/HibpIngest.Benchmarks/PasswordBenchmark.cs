using HibpIngest.Api.Settings;
using HibpIngest.Cli.Emulator;
using HibpIngest.Hosting.Web;
using HibpIngest.Passwords.Import;
using HibpIngest.Passwords.Releases;
using HibpIngest.Passwords.Serving;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures ranges from each back end, read from a store that responds at once, compared with a bare read of the same
/// requests: in process, and through Kestrel compared with an endpoint that makes the same read and copies its bytes.
/// Ranges from memory are compared with Kestrel sending the same bytes. Also measures how much longer the emulator
/// takes for a table's partition than for a blob.
/// </summary>
internal sealed class PasswordBenchmark(string folder, int rounds, int requests) : IAsyncDisposable
{
    private const double MaxLatency = 1.3;
    private const double LeastThroughput = 0.8;

    // As many hashes in each as in the published list.
    private const int Prefixes = 100;
    private const int RowsOfPrefix = 1_953;

    private const int EmulatorReads = 100;
    private const int Seed = 13;

    private static readonly PasswordBackend[] Backends = [PasswordBackend.Pack, PasswordBackend.Blob, PasswordBackend.Table];

    private readonly PasswordList _list = new((long)Prefixes * RowsOfPrefix, Prefixes, Seed);
    private readonly WebLoad _load = new(rounds, requests);
    private readonly InMemoryPasswords _store = new();
    private readonly HttpClient _bare = new(new SocketsHttpHandler { MaxConnectionsPerServer = 512, UseProxy = false });
    private readonly Dictionary<string, byte[]> _ready = [];

    /// <summary>Returns whether every ratio is within its limit.</summary>
    /// <param name="seconds">Duration of a test at 2,000 requests per second, if h2load is installed; 0: none.</param>
    public async Task<bool> RunAsync(int seconds)
    {
        var address = await _load.StartAsync(_store.AnswerAsync);
        var connection = ConnectionStrings.Of(address, InMemoryPasswords.BlobRoot, InMemoryPasswords.TableRoot);
        using var account = StorageAccount.Open(connection, NullLoggerFactory.Instance);
        var written = new PasswordStores(_store, _store);
        var releases = await ImportAsync(written, Prefixes, Backends);
        foreach (var backend in Backends)
            await releases.SwitchAsync(backend, "bench", CancellationToken.None);
        var ready = await _load.StartAsync(SendReadyAsync);

        WebLoad.PrintHead();
        foreach (var backend in Backends)
            await MeasureAsync(backend, account, connection, address);
        await using (var server = await ServeAsync(connection, PasswordBackend.Pack, cacheMegabytes: 256))
        {
            await MeasureMemoryAsync(ready, server.Addresses[0]);
            await MeasureEmulatorAsync();
            if (seconds > 0)
            {
                await using var uncached = await ServeAsync(connection, PasswordBackend.Pack, cacheMegabytes: 0);
                await _load.HoldAsync(
                    Enumerable.Range(0, Prefixes).Select(i => uncached.Addresses[0] + Path(i)), ["accept-encoding: gzip"], seconds);
            }
        }
        return _load.Ended();
    }

    public async ValueTask DisposeAsync()
    {
        await _load.DisposeAsync();
        _bare.Dispose();
    }

    private async Task MeasureAsync(PasswordBackend backend, StorageAccount account, string connection, string address)
    {
        var (least, max) = backend == PasswordBackend.Table ? ((double?)null, (double?)null) : (LeastThroughput, MaxLatency);
        using var ranges = new PasswordRanges(
            new PasswordStores(account.PasswordBlobs, account.PasswordTables), Options.Create(OptionsOf(backend, cacheMegabytes: 0)),
            TimeProvider.System, NullLoggerFactory.Instance);
        await ranges.RefreshAsync(CancellationToken.None);
        var reads = new List<IReadOnlyList<InMemoryPasswords.RecordedRead>>();
        for (var i = 0; i < Prefixes; i++)
        {
            var recorded = _store.Record();
            var range = await ranges.FindAsync(HashMode.Sha1, _list.Prefix(i), CancellationToken.None)
                ?? throw new InvalidOperationException("a range that was imported is not there");
            // The list of served releases is read from time to time as well.
            reads.Add([.. recorded.Where(one => !one.Address.Contains(".json", StringComparison.Ordinal))]);
            _ready.TryAdd(Path(i), range.For(acceptsGzip: true).Bytes.ToArray());
        }

        var name = backend.Name();
        await _load.CompareAsync(
            $"{name} in process", i => ReadBareAsync(address, reads[i % Prefixes]), i => FindAsync(ranges, i), max, printsMedian: true);
        await _load.CompareProcessorAsync(
            $"{name} in process", i => ReadBareAsync(address, reads[i % Prefixes]), i => FindAsync(ranges, i));

        var numbers = Enumerable.Range(0, Prefixes).ToDictionary(Path);
        var copying = await _load.StartAsync(async context =>
        {
            var bytes = await ReadBareAsync(address, reads[numbers[context.Request.Path.Value!]]);
            context.Response.ContentType = "text/plain";
            context.Response.ContentLength = bytes.Length;
            await context.Response.Body.WriteAsync(bytes);
        });
        await using var server = await ServeAsync(connection, backend, cacheMegabytes: 0);
        using var client = CreateClient();
        await _load.MeasureAsync(
            $"{name} through Kestrel", client, i => copying + Path(i), i => server.Addresses[0] + Path(i), least, max);
        await using var logging = await ServeAsync(connection, backend, cacheMegabytes: 0, isLogged: true);
        await _load.MeasureAsync(
            $"{name}, logged behind", client, i => copying + Path(i), i => logging.Addresses[0] + Path(i), null, null);
    }

    /// <summary>Sends the same requests to both, with wrk if it is installed, otherwise with a client in this process.</summary>
    private async Task MeasureMemoryAsync(string ready, string ours)
    {
        const string What = "from memory, requests/s";
        var script = System.IO.Path.Combine(folder, "ranges.lua");
        await File.WriteAllTextAsync(script, $$"""
            local asked = {}
            local at = 0
            init = function()
              for i, path in ipairs({ {{string.Join(", ", Enumerable.Range(0, Prefixes).Select(i => $"\"{Path(i)}\""))}} }) do
                asked[i] = wrk.format("GET", path, { ["Accept-Encoding"] = "gzip" })
              end
            end
            request = function()
              at = at % #asked + 1
              return asked[at]
            end
            """);
        try
        {
            var (bares, own) = (new List<double>(), new List<double>());
            for (var round = -1; round < rounds; round++)
            {
                var (bare, our) = (await WrkAsync(script, ready), await WrkAsync(script, ours));
                if (round < 0)
                    continue; // warm-up
                bares.Add(bare);
                own.Add(our);
            }
            _load.RowAtLeast(What, bares, own, LeastThroughput);
        }
        catch (System.ComponentModel.Win32Exception)
        {
            Console.Error.WriteLine("wrk is not installed: a client of this process asks in its place");
            using var client = CreateClient();
            await _load.MeasureAsync(What, client, i => ready + Path(i), i => ours + Path(i), LeastThroughput, null);
        }
    }

    /// <returns>Requests per second.</returns>
    private static async Task<double> WrkAsync(string script, string address)
    {
        var (output, _) = await ExternalProgram.RunAsync("wrk", "-t1", "-c32", "-d5s", "-s", script, address);
        const string Rate = "Requests/sec:";
        if (output.Contains("Non-2xx", StringComparison.Ordinal) || output.Contains("Socket errors", StringComparison.Ordinal)
            || output.Split('\n').FirstOrDefault(line => line.StartsWith(Rate, StringComparison.Ordinal)) is not { } line)
            throw new InvalidOperationException($"wrk: {output}");
        return double.Parse(line[Rate.Length..]);
    }

    /// <summary>Have I Been Pwned published 122 ms for one and 54 ms for the other.</summary>
    private async Task MeasureEmulatorAsync()
    {
        await using var emulator = await AzuriteEmulator.StartAsync(new AzuriteOptions(), CancellationToken.None);
        using var account = StorageAccount.Open(emulator.ConnectionString, NullLoggerFactory.Instance);
        var stores = new PasswordStores(account.PasswordBlobs, account.PasswordTables);
        PasswordBackend[] backends = [PasswordBackend.Blob, PasswordBackend.Table];
        var releases = await ImportAsync(stores, prefixes: 1, backends);
        var times = new Dictionary<PasswordBackend, double[]>();
        var ranges = new Dictionary<PasswordBackend, PasswordRanges>();
        foreach (var backend in backends)
        {
            await releases.SwitchAsync(backend, "bench", CancellationToken.None);
            times[backend] = new double[EmulatorReads];
            ranges[backend] = new PasswordRanges(
                stores, Options.Create(OptionsOf(backend, 0)), TimeProvider.System, NullLoggerFactory.Instance);
        }
        for (var i = -10; i < EmulatorReads; i++)
        {
            foreach (var backend in backends)
            {
                var began = Stopwatch.GetTimestamp();
                await ranges[backend].FindAsync(HashMode.Sha1, _list.Prefix(0), CancellationToken.None);
                if (i >= 0)
                    times[backend][i] = Stopwatch.GetElapsedTime(began).TotalMilliseconds;
            }
        }
        foreach (var one in ranges.Values)
            one.Dispose();
        var (blob, table) = (times[PasswordBackend.Blob].Median(), times[PasswordBackend.Table].Median());
        Console.WriteLine(
            $"one range of the emulator, median: table {table:F1} ms, blob {blob:F1} ms, {table / blob:F1} times (published: 122 and 54, "
            + $"{122.0 / 54:F1} times)");
    }

    private async Task<PasswordReleases> ImportAsync(PasswordStores stores, int prefixes, IReadOnlyList<PasswordBackend> into)
    {
        var file = System.IO.Path.Combine(folder, $"{prefixes}.txt");
        new PasswordList((long)prefixes * RowsOfPrefix, prefixes, Seed).Write(HashMode.Sha1, file, file + ".none", _ => false);
        var releases = new PasswordReleases(
            stores, new PurgeHook(null, null, _bare, NullLogger<PurgeHook>.Instance), TimeProvider.System);
        await new ImportPasswords(stores, releases, TimeProvider.System).RunAsync(
            new ImportRequest
            {
                Inputs = [ImportInput.File(file)],
                Options = new ImportOptions { WorkFolder = System.IO.Path.Combine(folder, $"work{prefixes}") },
                Into = into,
                Release = "bench",
            },
            null, null, CancellationToken.None);
        return releases;
    }

    private static Task<WebServer> ServeAsync(
        string connection, PasswordBackend backend, int cacheMegabytes, bool isLogged = false) =>
        WebServer.StartAsync(
            new WebServerOptions
            {
                Urls = ["http://127.0.0.1:0"],
                Passwords = OptionsOf(backend, cacheMegabytes),
                Web = new WebOptions { AccessLog = isLogged },
            },
            services => services.AddHibpApiStorage(connection, [], nearest: null).AddSingleton<IAccessBlobs>(new ReadyAccessLog()),
            TimeProvider.System, NullLoggerFactory.Instance, CancellationToken.None);

    private static PasswordOptions OptionsOf(PasswordBackend backend, int cacheMegabytes) =>
        new() { Passwords = (PasswordPin)backend, PasswordsCache = cacheMegabytes };

    private static HttpClient CreateClient()
    {
        var client = WebLoad.CreateClient();
        client.DefaultRequestHeaders.Add("accept-encoding", "gzip");
        return client;
    }

    private async Task FindAsync(PasswordRanges ranges, int i)
    {
        var range = await ranges.FindAsync(HashMode.Sha1, _list.Prefix(i % Prefixes), CancellationToken.None);
        _ = range!.For(acceptsGzip: true).ETag;
    }

    /// <summary>Sends the requests that our code made, with a client that knows no store.</summary>
    private async Task<byte[]> ReadBareAsync(string address, IReadOnlyList<InMemoryPasswords.RecordedRead> reads)
    {
        var bytes = Array.Empty<byte>();
        foreach (var read in reads)
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, address + read.Address);
            foreach (var (name, value) in read.Headers)
                request.Headers.TryAddWithoutValidation(name, value);
            using var response = await _bare.SendAsync(request);
            response.EnsureSuccessStatusCode();
            bytes = await response.Content.ReadAsByteArrayAsync();
        }
        return bytes;
    }

    private Task SendReadyAsync(HttpContext context)
    {
        var bytes = _ready[context.Request.Path.Value!];
        context.Response.ContentType = "text/plain";
        context.Response.Headers.ContentEncoding = "gzip";
        context.Response.ContentLength = bytes.Length;
        return context.Response.Body.WriteAsync(bytes).AsTask();
    }

    private string Path(int i) => $"/range/{HashModes.PrefixText(_list.Prefix(i % Prefixes))}";
}
