using System.Diagnostics;
using System.Globalization;
using System.IO.Compression;
using System.Text.Json;
using HibpIngest.AzureStorage;
using HibpIngest.Breaches;
using HibpIngest.Hosting.Web;
using HibpIngest.Lookup;
using HibpIngest.Stores;
using HibpIngest.Web;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Lookups beside the bare point read that each of them is, over a table server that answers at once: in process, and
/// through Kestrel beside an endpoint that makes the same read and copies its bytes. Ready answers beside Kestrel sending
/// the same bytes.
/// </summary>
internal sealed class WebBenchmark(int rounds, int requests) : IAsyncDisposable
{
    /// <summary>A p99 is at most so many times the bare one.</summary>
    private const double MostLatency = 1.3;

    private const double LeastThroughput = 0.8;

    private const int Connections = 32;

    // What a laptop's browser history of breaches is: more than Have I Been Pwned lists.
    private const int Breaches = 1_000;

    private const string Domain = "example.com";

    private readonly List<WebApplication> _apps = [];
    private readonly List<string> _misses = [];
    private readonly HttpClient _bare = new(new SocketsHttpHandler { MaxConnectionsPerServer = 512, UseProxy = false });
    private string _table = "";
    private string _key = "";

    /// <summary>Whether every ratio is within its limit.</summary>
    /// <param name="seconds">How long 2,000 requests a second are held, where h2load is installed; 0: not at all.</param>
    public async Task<bool> RunAsync(int seconds)
    {
        _table = await StartAsync(AnswerEntityAsync);
        _key = new string('0', ApiKey.Digits);
        using var account = StorageAccount.Open(
            $"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={Convert.ToBase64String(new byte[64])};"
            + $"BlobEndpoint={_table}/b;QueueEndpoint={_table}/q;TableEndpoint={_table}/devstoreaccount1;", NullLoggerFactory.Instance);
        var catalogue = new ReadyCatalogue(Breaches);
        var stores = WebFactory.StoresOf(account) with { Catalogue = catalogue, Keys = new OneKey(_key) };
        await using var server = await WebServer.StartAsync(
            stores, new WebServerOptions { Urls = ["http://127.0.0.1:0"] }, TimeProvider.System, NullLoggerFactory.Instance,
            CancellationToken.None);
        var ours = server.Addresses[0];
        var bareRead = await StartAsync(CopyEntityAsync);
        var ready = await StartAsync(context => SendAsync(context, catalogue));

        Console.WriteLine("| what | bare | ours | ratio, median of rounds | limit |");
        Console.WriteLine("| --- | ---: | ---: | ---: | ---: |");
        await MeasureLookupAsync(stores);
        await MeasureAsync("lookup through Kestrel", $"{bareRead}/read/", $"{ours}/api/v3/breachedaccount/", perAccount: true);
        await MeasureAsync("latestbreach", $"{ready}/{CatalogueDocuments.Latest}", $"{ours}/api/v3/latestbreach", perAccount: false);
        await MeasureAsync("breaches of 1,000", $"{ready}/{CatalogueDocuments.Breaches}", $"{ours}/api/v3/breaches", perAccount: false);
        if (seconds > 0)
            await HoldAsync($"{ours}/api/v3/breachedaccount/", seconds);
        foreach (var miss in _misses)
            Console.Error.WriteLine($"missed: {miss}");
        return _misses.Count == 0;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var app in _apps)
            await app.DisposeAsync();
        _bare.Dispose();
    }

    /// <summary>One lookup after another, in this process.</summary>
    private async Task MeasureLookupAsync(WebStores stores)
    {
        var catalogue = new CatalogueReader(stores.Catalogue, TimeProvider.System, NullLogger<CatalogueReader>.Instance);
        var accounts = new BreachedAccounts(catalogue, stores.Accounts);
        await CompareAsync(
            "lookup in process, p99 in µs",
            async i => await ReadBareAsync(Alias(i)),
            async i => await accounts.FindAsync(Alias(i), Domain, CancellationToken.None));
    }

    private async Task MeasureAsync(string what, string bare, string ours, bool perAccount)
    {
        using var client = new HttpClient(
            new SocketsHttpHandler { MaxConnectionsPerServer = Connections, UseProxy = false, AutomaticDecompression = default });
        client.DefaultRequestHeaders.Add("user-agent", "benchmark");
        client.DefaultRequestHeaders.Add("hibp-api-key", _key);
        client.DefaultRequestHeaders.Add("accept-encoding", "gzip");
        var (bareRates, ourRates, bareTails, ourTails) = (new List<double>(), new List<double>(), new List<double>(), new List<double>());
        for (var round = -1; round < rounds; round++)
        {
            var (rate, tail) = await LoadAsync(client, bare, perAccount);
            var (ourRate, ourTail) = await LoadAsync(client, ours, perAccount);
            if (round < 0)
                continue; // warms both
            bareRates.Add(rate);
            ourRates.Add(ourRate);
            bareTails.Add(tail);
            ourTails.Add(ourTail);
        }
        Row($"{what}, requests/s", bareRates, ourRates, ratio => ratio >= LeastThroughput, $"{LeastThroughput:F1} at least");
        if (perAccount)
            Row($"{what}, p99 in µs", bareTails, ourTails, ratio => ratio <= MostLatency, $"{MostLatency:F1} at most");
    }

    /// <summary>One of each in turn, so that whatever slows the machine down slows both.</summary>
    private async Task CompareAsync(string what, Func<int, Task> bare, Func<int, Task> ours)
    {
        var (bares, own) = (new List<double>(), new List<double>());
        for (var round = -1; round < rounds; round++)
        {
            var (left, right) = (new double[requests], new double[requests]);
            for (var i = 0; i < requests; i++)
            {
                left[i] = await TimeAsync(bare, i);
                right[i] = await TimeAsync(ours, i);
            }
            if (round < 0)
                continue; // warms both
            bares.Add(Percentile(left));
            own.Add(Percentile(right));
        }
        Row(what, bares, own, ratio => ratio <= MostLatency, $"{MostLatency:F1} at most");
    }

    private static async Task<double> TimeAsync(Func<int, Task> call, int i)
    {
        var began = Stopwatch.GetTimestamp();
        await call(i);
        return Stopwatch.GetElapsedTime(began).TotalMicroseconds;
    }

    private void Row(string what, List<double> bare, List<double> ours, Func<double, bool> isWithin, string limit)
    {
        var ratio = Median(bare.Zip(ours, (left, right) => right / left));
        Console.WriteLine(string.Create(
            CultureInfo.InvariantCulture, $"| {what} | {Median(bare):N0} | {Median(ours):N0} | {ratio:F2} | {limit} |"));
        if (!isWithin(ratio))
            _misses.Add($"{what}: {ratio:F2}, {limit}");
    }

    /// <summary>Requests from as many connections as there may be, each after its own last.</summary>
    private async Task<(double Rate, double Tail)> LoadAsync(HttpClient client, string address, bool perAccount)
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
                using var response = await client.GetAsync(
                    perAccount ? $"{address}{Alias(i)}@{Domain}" : address, HttpCompletionOption.ResponseHeadersRead);
                response.EnsureSuccessStatusCode();
                await using var body = await response.Content.ReadAsStreamAsync();
                while (await body.ReadAsync(buffer) > 0)
                {
                    // to its end
                }
                times[i] = Stopwatch.GetElapsedTime(sent).TotalMicroseconds;
            }
        })));
        var rate = times.Length / Stopwatch.GetElapsedTime(began).TotalSeconds;
        Console.Error.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"{address}: {rate:N0}/s, each {(Environment.CpuUsage.TotalTime - cpu).TotalMicroseconds / times.Length:N0} µs of processors"));
        return (rate, Percentile(times));
    }

    private async Task HoldAsync(string address, int seconds)
    {
        var list = Path.GetTempFileName();
        try
        {
            await File.WriteAllLinesAsync(list, Enumerable.Range(0, 1_000).Select(i => $"{address}{Alias(i)}%40{Domain}"));
            var start = new ProcessStartInfo("h2load") { UseShellExecute = false, RedirectStandardOutput = true };
            foreach (var argument in (string[])["--h1", "--rps", "100", "-c", "20", "-t", "1", "-D", $"{seconds}", "-i", list,
                "-H", $"hibp-api-key: {_key}", "-H", "user-agent: h2load"])
                start.ArgumentList.Add(argument);
            using var process = Process.Start(start)!;
            var output = await process.StandardOutput.ReadToEndAsync();
            await process.WaitForExitAsync();
            foreach (var line in output.Split('\n').Where(line => line.StartsWith("finished", StringComparison.Ordinal)
                || line.StartsWith("requests:", StringComparison.Ordinal) || line.StartsWith("status codes:", StringComparison.Ordinal)
                || line.Contains("time for request", StringComparison.Ordinal)))
                Console.WriteLine(line.Trim());
            if (!output.Contains(" 0 failed, 0 errored, 0 timeout", StringComparison.Ordinal)
                || !output.Contains(" 0 4xx, 0 5xx", StringComparison.Ordinal))
                _misses.Add("2,000 a second: there were errors");
        }
        catch (System.ComponentModel.Win32Exception)
        {
            Console.Error.WriteLine("h2load is not installed (Debian: nghttp2-client): 2,000 a second were not tried");
        }
        finally
        {
            File.Delete(list);
        }
    }

    private async Task<string> StartAsync(RequestDelegate answer)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().UseUrls("http://127.0.0.1:0");
        var app = builder.Build();
        _apps.Add(app);
        app.Run(answer);
        await app.StartAsync();
        return app.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>()!.Addresses.First();
    }

    private static Task AnswerEntityAsync(HttpContext context)
    {
        context.Response.ContentType = "application/json;odata=nometadata;streaming=true;charset=utf-8";
        context.Response.ContentLength = Entity.Length;
        return context.Response.Body.WriteAsync(Entity).AsTask();
    }

    private async Task CopyEntityAsync(HttpContext context)
    {
        var alias = context.Request.Path.Value!["/read/".Length..].Split('@')[0];
        var bytes = await ReadBareAsync(alias);
        context.Response.ContentType = "application/json";
        context.Response.ContentLength = bytes.Length;
        await context.Response.Body.WriteAsync(bytes);
    }

    /// <summary>What any client has to send for an entity, with a signature that is ready.</summary>
    private async Task<byte[]> ReadBareAsync(string alias)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, EntityAddress(alias));
        request.Headers.TryAddWithoutValidation("Accept", "application/json;odata=nometadata");
        request.Headers.TryAddWithoutValidation("x-ms-version", "2019-02-02");
        request.Headers.TryAddWithoutValidation("x-ms-date", "Sun, 22 Nov 2026 00:00:00 GMT");
        request.Headers.TryAddWithoutValidation("Authorization", Signature);
        using var response = await _bare.SendAsync(request);
        return await response.Content.ReadAsByteArrayAsync();
    }

    private static readonly string Signature = $"SharedKey devstoreaccount1:{Convert.ToBase64String(new byte[32])}";

    private static async Task SendAsync(HttpContext context, ReadyCatalogue catalogue)
    {
        var bytes = catalogue.Bytes(context.Request.Path.Value![1..]);
        context.Response.ContentType = "application/json; charset=utf-8";
        context.Response.Headers.ContentEncoding = "gzip";
        context.Response.ContentLength = bytes.Length;
        await context.Response.Body.WriteAsync(bytes);
    }

    private string EntityAddress(string alias) => $"{_table}/devstoreaccount1/accounts(PartitionKey='{Domain}',RowKey='{alias}')";

    private static string Alias(int i) => string.Create(CultureInfo.InvariantCulture, $"user{i}");

    private static readonly byte[] Entity =
        """{"PartitionKey":"example.com","RowKey":"user1","Timestamp":"2026-11-22T00:00:00.0000000Z","b1":true,"b7":true,"b31":true}"""u8
            .ToArray();

    private static double Percentile(double[] times)
    {
        Array.Sort(times);
        return times[times.Length * 99 / 100];
    }

    private static double Median(IEnumerable<double> values) => values.Order().ElementAt(values.Count() / 2);

    /// <summary>A catalogue of so many breaches, each with one mark.</summary>
    private sealed class ReadyCatalogue : ICatalogueBlobs
    {
        private readonly Dictionary<string, byte[]> _blobs = [];

        public ReadyCatalogue(int breaches)
        {
            var models = Enumerable.Range(1, breaches).Select(i => new PublicBreach
            {
                Name = $"Breach{i}",
                Title = $"Breach {i:D4}",
                Domain = $"site{i}.example",
                BreachDate = new DateOnly(2020, 1, 1).AddDays(i),
                PwnCount = i * 1_000L,
                Description = string.Concat(Enumerable.Repeat($"In the year of breach {i} this site lost what it knew. ", 8)),
                LogoPath = $"https://api.example/logos/Breach{i}.png",
                DataClasses = ["Email addresses", "Names", "Passwords"],
                IsVerified = true,
            }).ToList();
            Add(CatalogueDocuments.Breaches, JsonSerializer.SerializeToUtf8Bytes(models, CatalogueJson.Default.IReadOnlyListPublicBreach));
            Add(CatalogueDocuments.Latest, JsonSerializer.SerializeToUtf8Bytes(models[^1], CatalogueJson.Default.PublicBreach));
            Add(CatalogueDocuments.DataClasses, """["Email addresses","Names","Passwords"]"""u8);
            var ids = new CatalogueIds(1, [.. models.Select((model, i) => new CatalogueMarks(model.Name, BreachFlags.Verified, [i + 1]))]);
            Add(CatalogueDocuments.Ids, JsonSerializer.SerializeToUtf8Bytes(
                ids with { Breaches = [.. ids.Breaches.Take(IAccountTable.MarksPerRow)] }, CatalogueJson.Default.CatalogueIds));
        }

        public byte[] Bytes(string name) => _blobs[name];

        public Task<CatalogueBlob?> ReadAsync(string name, string? knownETag, CancellationToken cancellationToken) =>
            Task.FromResult<CatalogueBlob?>(new CatalogueBlob("1", 1, _blobs[name], IsUnchanged: knownETag is not null));

        public Task CreateAsync(CancellationToken cancellationToken) => throw new NotSupportedException();

        public Task<bool> WriteAsync(string name, long version, CatalogueContent content, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public IAsyncEnumerable<CatalogueEntry> ListAsync(string prefix, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public Task DeleteAsync(string name, string etag, CancellationToken cancellationToken) => throw new NotSupportedException();

        private void Add(string name, ReadOnlySpan<byte> json)
        {
            using var bytes = new MemoryStream();
            using (var gzip = new GZipStream(bytes, CompressionLevel.Optimal))
                gzip.Write(json);
            _blobs[name] = bytes.ToArray();
        }
    }

    /// <summary>The one key there is, as often a minute as can be asked.</summary>
    private sealed class OneKey(string key) : IApiKeys
    {
        private readonly ApiKey _key = new() { Hash = ApiKey.HashOf(key), Name = "benchmark", Rpm = 60_000_000 };

        public Task<ApiKey?> FindAsync(string hash, CancellationToken cancellationToken) =>
            Task.FromResult(hash == _key.Hash ? _key : null);

        public Task CreateAsync(CancellationToken cancellationToken) => throw new NotSupportedException();

        public Task<bool> AddAsync(ApiKey key, CancellationToken cancellationToken) => throw new NotSupportedException();

        public Task<IReadOnlyList<ApiKey>> ListAsync(CancellationToken cancellationToken) => throw new NotSupportedException();

        public Task<bool> RemoveAsync(string hash, CancellationToken cancellationToken) => throw new NotSupportedException();
    }
}
