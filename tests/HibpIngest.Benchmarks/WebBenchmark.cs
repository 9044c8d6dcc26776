using HibpIngest.Api.Settings;
using HibpIngest.Api.Lookup;
using HibpIngest.Benchmarks.Peers;
using HibpIngest.Hosting.Web;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures lookups, compared with a bare point read of the same entity, over a table server that responds at once:
/// in process, and through Kestrel compared with an endpoint that makes the same read and copies its bytes, and with the
/// same endpoint behind a check of the key (<see cref="KeyedServer"/>). Prepared responses are compared with Kestrel
/// sending the same bytes.
/// </summary>
internal sealed class WebBenchmark(int rounds, int requests) : IAsyncDisposable
{
    /// <summary>The largest p99, as a multiple of the bare one.</summary>
    private const double MaxLatency = 1.3;

    private const double LeastThroughput = 0.8;
    private const double MaxKeyedLatency = 1.2;

    // More breaches than Have I Been Pwned lists.
    private const int Breaches = 1_000;

    private const string Domain = "example.com";

    private static readonly byte[] StorageKey = new byte[64];

    private readonly WebLoad _load = new(rounds, requests);
    private readonly HttpClient _bare = new(new SocketsHttpHandler { MaxConnectionsPerServer = 512, UseProxy = false });
    private string _table = "";
    private string _key = "";

    /// <summary>Returns whether every ratio is within its limit.</summary>
    /// <param name="seconds">Duration of a test at 2,000 requests per second, if h2load is installed; 0: none.</param>
    public async Task<bool> RunAsync(int seconds)
    {
        _table = await _load.StartAsync(AnswerEntityAsync);
        _key = new string('0', ApiKey.Digits);
        var connection = ConnectionStrings.Of(_table);
        var catalogue = new ReadyCatalogue(Breaches);
        await using var server = await ServeAsync(connection, catalogue, isLogged: false);
        var ours = server.Addresses[0];
        var bareRead = await _load.StartAsync(CopyEntityAsync);
        await using var keyed = await KeyedServer.StartAsync(_key, CopyEntityAsync);
        var keyedRead = keyed.Urls.First();
        var ready = await _load.StartAsync(context => SendAsync(context, catalogue));

        using var client = WebLoad.CreateClient();
        client.DefaultRequestHeaders.Add("user-agent", "benchmark");
        client.DefaultRequestHeaders.Add("hibp-api-key", _key);
        client.DefaultRequestHeaders.Add("accept-encoding", "gzip");
        WebLoad.PrintHead();
        await MeasureLookupAsync(server.Services.GetRequiredService<BreachedAccounts>());
        await _load.MeasureAsync(
            "bare read that requires a key", client, i => $"{bareRead}/read/{Alias(i)}@{Domain}",
            i => $"{keyedRead}/read/{Alias(i)}@{Domain}", null, null);
        await _load.MeasureAsync(
            "lookup through Kestrel", client, i => $"{bareRead}/read/{Alias(i)}@{Domain}",
            i => $"{ours}/api/v3/breachedaccount/{Alias(i)}@{Domain}", LeastThroughput, MaxLatency);
        await _load.MeasureAsync(
            "lookup, against the read that requires a key", client, i => $"{keyedRead}/read/{Alias(i)}@{Domain}",
            i => $"{ours}/api/v3/breachedaccount/{Alias(i)}@{Domain}", null, MaxKeyedLatency);
        await _load.MeasureAsync(
            "latestbreach", client, _ => $"{ready}/{CatalogueDocuments.Latest}", _ => $"{ours}/api/v3/latestbreach", LeastThroughput, null);
        await _load.MeasureAsync(
            "breaches of 1,000", client, _ => $"{ready}/{CatalogueDocuments.Breaches}", _ => $"{ours}/api/v3/breaches", LeastThroughput,
            null);
        // The same with each request logged, before or after its response, in a store that takes no time.
        await using var logging = await ServeAsync(connection, catalogue, isLogged: true);
        var logged = logging.Addresses[0];
        await _load.MeasureAsync(
            "lookup, logged first", client, i => $"{bareRead}/read/{Alias(i)}@{Domain}",
            i => $"{logged}/api/v3/breachedaccount/{Alias(i)}@{Domain}", null, null);
        await _load.MeasureAsync(
            "latestbreach, logged first", client, _ => $"{ready}/{CatalogueDocuments.Latest}", _ => $"{logged}/api/v3/latestbreach", null,
            null);
        await _load.MeasureAsync(
            "breaches, logged behind", client, _ => $"{ready}/{CatalogueDocuments.Breaches}", _ => $"{logged}/api/v3/breaches", null, null);
        if (seconds > 0)
        {
            await _load.HoldAsync(
                Enumerable.Range(0, 1_000).Select(i => $"{ours}/api/v3/breachedaccount/{Alias(i)}%40{Domain}"),
                [$"hibp-api-key: {_key}", "user-agent: h2load"], seconds);
        }
        return _load.Ended();
    }

    public async ValueTask DisposeAsync()
    {
        await _load.DisposeAsync();
        _bare.Dispose();
    }

    private Task<WebServer> ServeAsync(string connection, ReadyCatalogue catalogue, bool isLogged) => WebServer.StartAsync(
        new WebServerOptions { Urls = ["http://127.0.0.1:0"], Web = new WebOptions { AccessLog = isLogged } },
        services => services.AddHibpApiStorage(connection, [], nearest: null).AddSingleton<ICatalogueBlobs>(catalogue)
            .AddSingleton<IApiKeys>(new OneKey(_key)).AddSingleton<IReadLayout>(new FirstLayout())
            .AddSingleton<IAccessBlobs>(new ReadyAccessLog()),
        TimeProvider.System, NullLoggerFactory.Instance, CancellationToken.None);

    /// <summary>Runs one lookup after another in this process.</summary>
    private Task MeasureLookupAsync(BreachedAccounts accounts) => _load.CompareAsync(
        "lookup in process",
        async i => await ReadBareAsync(Alias(i)),
        async i => await accounts.FindAsync(new Account(Alias(i), Domain), CancellationToken.None), MaxLatency);

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

    /// <summary>Sends what any client must send for an entity: its date and path are signed, so that no signature serves twice.</summary>
    private async Task<byte[]> ReadBareAsync(string alias)
    {
        var date = TimeProvider.System.GetUtcNow().ToString("R", CultureInfo.InvariantCulture);
        using var request = new HttpRequestMessage(HttpMethod.Get, EntityAddress(alias));
        var text = $"GET\n\n\n{date}\n/local{request.RequestUri!.AbsolutePath}";
        request.Headers.TryAddWithoutValidation("Accept", "application/json;odata=nometadata");
        request.Headers.TryAddWithoutValidation("x-ms-version", "2019-02-02");
        request.Headers.TryAddWithoutValidation("x-ms-date", date);
        request.Headers.TryAddWithoutValidation(
            "Authorization", $"SharedKey local:{Convert.ToBase64String(HMACSHA256.HashData(StorageKey, Encoding.UTF8.GetBytes(text)))}");
        using var response = await _bare.SendAsync(request);
        return await response.Content.ReadAsByteArrayAsync();
    }

    private static async Task SendAsync(HttpContext context, ReadyCatalogue catalogue)
    {
        var bytes = catalogue.Bytes(context.Request.Path.Value![1..]);
        context.Response.ContentType = "application/json; charset=utf-8";
        context.Response.Headers.ContentEncoding = "gzip";
        context.Response.ContentLength = bytes.Length;
        await context.Response.Body.WriteAsync(bytes);
    }

    private string EntityAddress(string alias) => $"{_table}/local/accounts(PartitionKey='{Domain}',RowKey='{alias}')";

    private static string Alias(int i) => $"user{i}";

    private static readonly byte[] Entity =
        """{"PartitionKey":"example.com","RowKey":"user1","Timestamp":"2026-11-22T00:00:00.0000000Z","b1":true,"b7":true,"b31":true}"""u8
            .ToArray();

    private sealed class FirstLayout : IReadLayout
    {
        public Task<StoreLayout?> GetReadLayoutAsync(CancellationToken cancellationToken) =>
            Task.FromResult<StoreLayout?>(StoreLayout.First);
    }

    private sealed class OneKey(string key) : IApiKeys
    {
        private readonly ApiKey _key = new() { Hash = ApiKey.HashOf(key), Name = "benchmark", Rpm = 60_000_000 };

        public Task<ApiKey?> FindAsync(string hash, CancellationToken cancellationToken) =>
            Task.FromResult(hash == _key.Hash ? _key : null);

        public Task CreateAsync(CancellationToken cancellationToken) => throw new NotSupportedException();

        public Task<bool> AddAsync(ApiKey key, CancellationToken cancellationToken) => throw new NotSupportedException();

        public Task<IReadOnlyList<ApiKey>> ListAsync(CancellationToken cancellationToken) => throw new NotSupportedException();

        public Task<bool> SetDomainAsync(string hash, string domain, bool isProven, CancellationToken cancellationToken) =>
            throw new NotSupportedException();

        public Task<bool> RemoveAsync(string hash, CancellationToken cancellationToken) => throw new NotSupportedException();
    }
}
