using System.Diagnostics.Metrics;
using HibpIngest.Cli.LocalHost;

namespace HibpIngest.Integration.Tests.Telemetry;

/// <summary>Tests the operator's listener as Prometheus reads it.</summary>
public sealed partial class MetricsEndpointTests
{
    [Fact]
    public async Task Metrics_endpoint_returns_instruments_as_text_to_local_callers()
    {
        using var account = StorageAccount.Open(await AzuriteFixture.NewAccountAsync(), NullLoggerFactory.Instance);
        await using var listener = await OperatorListener.StartAsync(
            "http://127.0.0.1:0", account, status: null, TimeProvider.System, None);
        using var http = new HttpClient { BaseAddress = new Uri(listener.Address) };
        // Names of this test's own, because other tests run concurrently.
        using var meter = new Meter(TelemetryNames.Source);
        var counter = meter.CreateCounter<long>("hibp.test.metrics.counted");
        counter.Add(40, new KeyValuePair<string, object?>("breach", "A \"quoted\" \\ one"));
        counter.Add(2, new KeyValuePair<string, object?>("breach", "A \"quoted\" \\ one"));

        using var answer = await http.GetAsync(new Uri("/metrics", UriKind.Relative));
        var text = await answer.Content.ReadAsStringAsync();
        Assert.Equal((HttpStatusCode.OK, "text/plain"), (answer.StatusCode, answer.Content.Headers.ContentType!.MediaType));
        // A line is a comment, or a name, its labels and a number (prometheus.io/docs/instrumenting/exposition_formats).
        var samples = text.Split('\n', StringSplitOptions.RemoveEmptyEntries).Where(line => !line.StartsWith('#'))
            .Select(line => Sample().Match(line) is { Success: true } match ? match : throw new FormatException(line)).ToList();
        Assert.All(samples, sample => double.Parse(
            sample.Groups["value"].Value.Replace("+Inf", "Infinity", StringComparison.Ordinal), CultureInfo.InvariantCulture));
        var ours = Assert.Single(
            samples, sample => sample.Groups["name"].Value.StartsWith("hibp_test_metrics_counted", StringComparison.Ordinal));
        Assert.EndsWith("_total", ours.Groups["name"].Value, StringComparison.Ordinal);
        Assert.Contains("breach=\"A \\\"quoted\\\" \\\\ one\"", ours.Groups["labels"].Value, StringComparison.Ordinal);
        Assert.Equal("42", ours.Groups["value"].Value);
    }

    [Theory]
    [InlineData("/metrics")]
    [InlineData("/usage")]
    [InlineData("/healthz")]
    [InlineData("/readyz")]
    public async Task Request_through_a_proxy_returns_403(string path)
    {
        using var account = StorageAccount.Open(await AzuriteFixture.NewAccountAsync(), NullLoggerFactory.Instance);
        await using var listener = await OperatorListener.StartAsync(
            "http://127.0.0.1:0", account, status: null, TimeProvider.System, None);
        using var http = new HttpClient { BaseAddress = new Uri(listener.Address) };
        Assert.NotEqual(HttpStatusCode.Forbidden, await StatusAsync(_ => { }));
        foreach (var (name, value) in WebRig.ProxyHeaders)
            Assert.Equal((name, HttpStatusCode.Forbidden), (name, await StatusAsync(request => request.Headers.Add(name, value))));
        // nginx's default proxy_pass: HTTP/1.0 with the listener's own address as Host.
        Assert.Equal(HttpStatusCode.Forbidden, await StatusAsync(request => request.Version = HttpVersion.Version10));

        async Task<HttpStatusCode> StatusAsync(Action<HttpRequestMessage> change)
        {
            using var request = new HttpRequestMessage(HttpMethod.Get, path);
            change(request);
            using var answer = await http.SendAsync(request);
            return answer.StatusCode;
        }
    }

    [GeneratedRegex(
        """^(?<name>[a-zA-Z_:][\w:]*)(\{(?<labels>([a-zA-Z_]\w*="(\\.|[^"\\])*",?)*)\})? (?<value>[\d.eE+-]+|NaN|[+-]Inf)( \d+)?\r?$""",
        RegexOptions.ExplicitCapture, 60_000)]
    private static partial Regex Sample();
}
