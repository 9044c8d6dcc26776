using System.Diagnostics.Metrics;
using HibpIngest.Api.Callers;
using HibpIngest.Hosting.Telemetry;
using HibpIngest.Integration.Tests.Telemetry;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using static HibpIngest.Telemetry.TelemetryNames;

namespace HibpIngest.Integration.Tests.Api;

/// <summary>Tests that nothing written reveals the requested account, the caller or the key.</summary>
[Collection(ListeningAlone.Name)]
public sealed class PrivacyTests(WebFixture fixture) : IClassFixture<WebFixture>
{
    private static readonly Regex CatalogueRead = new(@"catalogue: version \d+ read", RegexOptions.NonBacktracking);

    private const string Nobody = "nobody.private@hidden-domain.com";
    private const string Malformed = "malformed.private";
    private const string Foreign = "foreign-domain.com";
    private const string NoRoute = "private-path";
    private const string Query = "private-query.com";
    private const string Caller = "203.0.113.77";

    private static readonly string Wrong = RandomNumberGenerator.GetHexString(ApiKey.Digits, lowercase: true);
    private static readonly string Hash = Convert.ToHexString(SHA1.HashData(Encoding.ASCII.GetBytes(WebFixture.InAll)));

    [Theory]
    [InlineData("")]
    [InlineData("unavailable")]
    [InlineData("unexpected")]
    public async Task Logs_spans_metrics_and_access_records_contain_no_personal_data(string failure)
    {
        var lines = new CollectingLogger();
        var seen = new ConcurrentQueue<string>();
        using var logs = LoggerFactory.Create(logging => logging.SetMinimumLevel(LogLevel.Trace).AddProvider(lines));
        using var spans = new ActivityListener
        {
            ShouldListenTo = _ => true,
            Sample = (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllDataAndRecorded,
            ActivityStopped = activity => seen.Enqueue(
                $"{activity.Source.Name} {activity.DisplayName} {Text(activity.TagObjects)} {Text(activity.Baggage)}"),
        };
        ActivitySource.AddActivityListener(spans);
        using var measures = new MeterListener();
        measures.InstrumentPublished = (instrument, listener) => listener.EnableMeasurementEvents(instrument);
        measures.SetMeasurementEventCallback<double>((instrument, _, tags, _) => seen.Enqueue($"{instrument.Name} {Text([.. tags])}"));
        measures.SetMeasurementEventCallback<long>((instrument, _, tags, _) => seen.Enqueue($"{instrument.Name} {Text([.. tags])}"));
        measures.SetMeasurementEventCallback<int>((instrument, _, tags, _) => seen.Enqueue($"{instrument.Name} {Text([.. tags])}"));
        measures.Start();

        var access = new MemoryAccessBlobs(TimeProvider.System);
        await using (var web = await WebRig.StartAsync(
            fixture.Pipeline.Connection, configure: options => (options.Proxies, options.AccessLog) = (1, true), logs: logs,
            replaceServices: services => Fail(services, failure).AddSingleton<IAccessBlobs>(access)))
            await AskAsync(web.Address.Port, failure switch { "" => 200, "unavailable" => 503, _ => 500 });

        // The listeners work.
        Assert.Contains(seen, one => one.StartsWith(Instruments.WebDuration, StringComparison.Ordinal));
        Assert.Contains(lines.Lines, line => CatalogueRead.IsMatch(line.Text));
        Assert.Equal(failure.Length > 0, lines.Lines.Any(line => line.Text.StartsWith("/api/v3/", StringComparison.Ordinal)));
        var records = new List<string>();
        await foreach (var blob in access.ListAsync(None))
        {
            using var reader = new StreamReader((await access.OpenAsync(blob.Name, 0, None))!, Encoding.Latin1);
            records.Add(blob.Name + await reader.ReadToEndAsync());
        }
        Assert.NotEmpty(records);
        AssertSilent([.. lines.Lines.Select(line => line.Text), .. seen, .. records]);
    }

    [Fact]
    public async Task Verbose_server_logs_and_exports_no_personal_data()
    {
        using var folder = new TemporaryFolder();
        await using var endpoint = await TelemetryEndpoint.StartAsync();
        var variables = new Dictionary<string, string>
        {
            ["HIBP_STORAGE"] = fixture.Pipeline.Connection,
            ["HIBP_PROXIES"] = "1",
            [TelemetryExport.ApplicationInsightsVariable] = endpoint.ConnectionString,
            [TelemetryExport.OtlpVariable] = endpoint.Address,
        };
        await using var server = await HibpProcess.StartAsync(
            folder.Path, variables, "ready", "serve", "--verbose", "--urls", "http://127.0.0.1:0");
        await AskAsync(HostileTests.PortOf(server), 200);
        var ended = await server.TerminateAsync();

        Assert.Matches(CatalogueRead, ended.Error);
        Assert.Contains(endpoint.Items, item => item.Kind == "MetricData" && item.Name == Instruments.WebDuration);
        AssertSilent([ended.Error, ended.Output, .. endpoint.Got.Select(one => Encoding.Latin1.GetString(one.Body))]);
    }

    /// <summary>Requests everything that identifies a person, and paths that aren't served.</summary>
    private async Task AskAsync(int port, int found)
    {
        using var connection = new RawConnection(port);
        (string Path, string Key, int Status)[] all =
        [
            ($"/api/v3/breachedaccount/{WebFixture.InAll}", fixture.AllScopes, found),
            ($"/api/v3/breachedaccount/{Uri.EscapeDataString(WebFixture.InAlpha)}?domain={Query}", fixture.Key, found == 200 ? 404 : found),
            ($"/api/v3/breachedaccount/{Nobody}", fixture.Key, found == 200 ? 404 : found),
            ($"/api/v3/breachedaccount/{Malformed}", fixture.Key, 400),
            ($"/api/v3/breachedaccount/{Malformed}%00@{Foreign}", fixture.Key, 400),
            ($"/api/v3/pasteaccount/{Nobody}", fixture.Key, 404),
            ($"/api/v3/breachedaccount/range/{Hash[..6]}", fixture.AllScopes, 200),
            ($"/api/v3/breacheddomain/example.com", fixture.AllScopes, found),
            ($"/api/v3/breacheddomain/{Foreign}", fixture.AllScopes, 403),
            ($"/api/v3/subscribeddomains", fixture.AllScopes, 200),
            ($"/api/v3/breachedaccount/{Nobody}", Wrong, 401),
            ($"/api/v3/breachedaccount/{Nobody}", Wrong[1..], 401),
            ($"/{NoRoute}/{Nobody}", fixture.Key, 404),
            ($"/api/v3/breachedaccount/{Nobody}{new string('a', 10_000)}", fixture.Key, 414),
        ];
        foreach (var (path, key, status) in all)
        {
            Assert.Equal((path, status), (path, (await connection.AskAsync(Encoding.UTF8.GetBytes(
                $"GET {path} HTTP/1.1\r\nHost: x\r\nUser-Agent: privacy\r\nhibp-api-key: {key}\r\nX-Forwarded-For: {Caller}\r\n\r\n")))
                .Status));
        }
        foreach (var (raw, status) in ((string, int)[])[
            ($"{Nobody}\r\n\r\n", 400), ($"GET /{Nobody} HTTP/1.1\r\nHost: x\r\n{Nobody}\r\n\r\n", 400),
            ($"POST /api/v3/breachedaccount/{Nobody} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n{Nobody[..5]}", 405)])
            Assert.Equal(status, (await connection.AskAsync(Encoding.ASCII.GetBytes(raw))).Status);
    }

    private void AssertSilent(IReadOnlyCollection<string> written)
    {
        string[] people =
        [
            WebFixture.InAll, "alpha+tag", "alpha%2btag", "nobody.private", Malformed, "hidden-domain.com", Foreign, "example.com",
            NoRoute, Query, Caller, Hash[6..].ToLowerInvariant(), fixture.Key, fixture.AllScopes, Wrong, ApiKey.HashOf(fixture.Key),
            ApiKey.HashOf(fixture.AllScopes), ApiKey.HashOf(Wrong),
        ];
        var found = AddressSearch.Find(written.Select(Encoding.UTF8.GetBytes), people);
        Assert.True(found.Count == 0, $"{string.Join(", ", found)} in: {string.Join('\n', written.Where(one => people.Any(
            person => one.Contains(person, StringComparison.OrdinalIgnoreCase))).Take(10))}");
        // Six digits alone: ids of connections and spans are longer.
        Assert.DoesNotContain(written, one => Regex.IsMatch(
            one, $"(?<![0-9a-f]){Hash[..6]}(?![0-9a-f])", RegexOptions.IgnoreCase, TimeSpan.FromSeconds(10)));
        // The search works.
        Assert.NotEmpty(AddressSearch.Find([Encoding.UTF8.GetBytes($"GET /{Uri.EscapeDataString(Nobody)}")], people));
    }

    /// <summary>Makes a store whose errors contain the requested account, as a driver's may.</summary>
    private static IServiceCollection Fail(IServiceCollection services, string failure) => failure.Length == 0 ? services
        : services.Hook<IAccountReads>(_ => failure == "unavailable"
            ? throw new UnavailableException("the account table is down")
            : throw new InvalidOperationException($"no row {Nobody} for {Caller}", new InvalidDataException(WebFixture.InAll)));

    private static string Text<T>(IEnumerable<KeyValuePair<string, T>> tags) =>
        string.Join(' ', tags.Select(tag => $"{tag.Key}={tag.Value}"));
}
