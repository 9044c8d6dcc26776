using System.Net.Sockets;
using HibpIngest.Hosting.Telemetry;
using static HibpIngest.Telemetry.TelemetryNames;

namespace HibpIngest.Integration.Tests.Telemetry;

/// <summary>Tests what real processes send to Application Insights and to an OTLP collector, and that no address is in it.</summary>
public sealed class TelemetryExportTests : IDisposable
{
    private const string Key = "InstrumentationKey=0d6a0f4b-6a0e-4d6e-8f5b-3a1c2b4d5e6f";

    // A demo has no clients to call.
    private static readonly string[] SpanNames =
        [.. Constants.Of(typeof(Spans)).Where(name => name is not (Spans.Call or Spans.Deliver)).Order()];
    private static readonly string[] InstrumentNames =
        [.. Constants.Of(typeof(Instruments)).Where(name => name is not (Instruments.Callbacks or Instruments.CallbackOldest)).Order()];

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Demo_is_exported_completely_to_both_targets_as_one_trace_without_addresses()
    {
        await using var endpoint = await TelemetryEndpoint.StartAsync();
        var variables = new Dictionary<string, string>
        {
            [TelemetryExport.ApplicationInsightsVariable] = endpoint.ConnectionString,
            [TelemetryExport.OtlpVariable] = endpoint.Address,
        };
        var demo = (await HibpProcess.RunAsync(_folder.Path, variables, "demo", "--json")).Succeeded().Json;

        // Application Insights.
        var items = endpoint.Items;
        Assert.Equal(InstrumentNames, items.Where(item => item.Kind == "MetricData").Select(item => item.Name).Distinct().Order());
        var spanItems = items.Where(item => item.IsSpan).ToList();
        Assert.Equal(SpanNames, spanItems.Select(item => item.Name).Distinct().Order());
        var trace = Assert.Single(spanItems.Select(item => item.Operation).Distinct());
        Assert.All(spanItems, item => Assert.Equal(("1", "Contoso", true), (item[Tags.Load], item[Tags.Breach], item.Success)));
        var root = Assert.Single(spanItems, item => item.Parent.Length == 0);
        var ids = spanItems.Select(item => item.Id).ToHashSet();
        Assert.All(spanItems.Where(item => item != root), item => Assert.Contains(item.Parent, ids));
        var metricItems = items.Where(item => item.Kind == "MetricData").ToLookup(item => item.Name);
        Assert.Equal(demo.Number("accounts"), Assert.Single(metricItems[Instruments.Rows]).Value);
        Assert.Equal(demo.Number("entities"), Assert.Single(metricItems[Instruments.Entities]).Value);
        Assert.Equal(demo.Number("rejected"), metricItems[Instruments.Rejected].Sum(item => item.Value));

        // The load's own log lines, within its trace.
        var seen = items.Where(item => item.Kind == "MessageData" && item[Logs.EventId] == $"{Logs.LoadSeen}").ToList();
        Assert.Equal(
            ("1", "Contoso", "done", "100", trace),
            (seen[^1][Logs.Load], seen[^1][Logs.Breach], seen[^1][Logs.State], seen[^1][Logs.Progress], seen[^1].Operation));
        foreach (var line in (string[])["1000", "1006", "1200", "1300", "1302"])
            Assert.Equal(trace, Assert.Single(items, item => item.Kind == "MessageData" && item[Logs.EventId] == line).Operation);

        // OTLP: ExportTraceServiceRequest.resource_spans.scope_spans.spans{trace_id, name};
        // .resource_metrics.scope_metrics.metrics.name;
        // .resource_logs.scope_logs.log_records.body.string_value.
        var spans = endpoint.Bodies("/v1/traces").SelectMany(body => ProtobufFields.At(body, 1, 2, 2)).ToList();
        Assert.Equal(SpanNames, spans.SelectMany(span => ProtobufFields.At(span, 5)).Select(Encoding.UTF8.GetString).Distinct().Order());
        Assert.All(spans, span => Assert.Equal(trace, Convert.ToHexStringLower(Assert.Single(ProtobufFields.At(span, 1)))));
        var metrics = endpoint.Bodies("/v1/metrics").SelectMany(body => ProtobufFields.At(body, 1, 2, 2, 1)).Select(
            Encoding.UTF8.GetString);
        Assert.Equal(InstrumentNames, metrics.Distinct().Order());
        var lines = endpoint.Bodies("/v1/logs")
            .SelectMany(body => ProtobufFields.At(body, 1, 2, 2, 5, 1)).Select(Encoding.UTF8.GetString).ToList();
        Assert.Contains("load 1 of Contoso: done", lines);

        var people = await PeopleAsync();
        Assert.Empty(AddressSearch.Find(endpoint.Got.Select(one => one.Body), people));
        // The search works: a mail contains its reader.
        var mail = Directory.GetFiles(Path.Combine(_folder.Path, ".hibp", "demo", "mail"), "*.eml").First();
        Assert.NotEmpty(AddressSearch.Find([await File.ReadAllBytesAsync(mail)], people));
    }

    [Fact]
    public async Task Failed_slice_is_exported_with_its_error_and_its_rerun_repairs_the_load()
    {
        await using var endpoint = await TelemetryEndpoint.StartAsync();
        await using var host = await FunctionsHost.StartAsync(new Dictionary<string, string>
        {
            ["HIBP_BATCHROWS"] = "200",
            ["HIBP_SLICEROWS"] = "100",
            [TelemetryExport.ApplicationInsightsVariable] = endpoint.ConnectionString,
        });
        (await host.IngestAsync("Failing.zip", PipelineRig.Zip(("a", PipelineRig.Accounts(0, 450))))).AssertDone();
        (await host.InvokeTimerAsync()).AssertDone();
        await PipelineRig.ExecuteAsync(host.DatabaseFile, "UPDATE rows SET id = -id WHERE id = (1 << 40) + 250");
        Assert.Equal(5, (await host.PumpAsync())["UpsertSlice"].Failed);
        Assert.Equal(350, (await RawTable.ReadAccountsAsync(host.Storage, "accounts")).Count);
        var failed = (await host.HibpAsync("slices", "Failing", "--failed", "--json")).Succeeded().Json.List("slices");
        Assert.Contains("rows", Assert.Single(failed).Text("error"), StringComparison.Ordinal);
        await PipelineRig.ExecuteAsync(host.DatabaseFile, "UPDATE rows SET id = -id WHERE id < 0");
        (await host.HibpAsync("requeue", "Failing", "--failed")).Succeeded();
        await host.PumpAsync();
        (await host.InvokeTimerAsync()).AssertDone();
        await host.StopWorkerAsync();
        Assert.Equal(PipelineRig.Expected(0, 450).Order(), (await RawTable.ReadAccountsAsync(host.Storage, "accounts")).Keys.Order());

        var items = endpoint.Items;
        var tries = items.Where(item => item is { IsSpan: true, Name: Spans.Slice } && item[Tags.Slice] == "3").ToList();
        Assert.Equal([false, false, false, false, false, true], tries.Select(item => item.Success));
        Assert.Equal(["1", "2", "3", "4", "5", "1"], tries.Select(item => item[Tags.Attempt]));
        Assert.All(tries.Take(5), item => Assert.Equal(("1", "Failing"), (item[Tags.Load], item[Tags.Breach])));
        Assert.All(tries.Take(5), item => Assert.Contains("99", item[Tags.Error], StringComparison.Ordinal)); // slices of 100 rows
        Assert.Single(items.Where(item => item.IsSpan).Select(item => item.Operation).Distinct());
        var failures = items.Where(item => item[Logs.EventId] == "1102").ToList();
        Assert.Equal(5, failures.Count);
        Assert.All(
            failures, item => Assert.Equal(
                ("Error", "1", "3", tries[0][Tags.Error]), (item.Severity, item[Logs.Load], item["Slice"], item["Reason"])));
        var gaveUp = Assert.Single(items, item => item[Logs.EventId] == "1103");
        Assert.EndsWith("hibp load requeue Failing --slice 3", gaveUp.Message, StringComparison.Ordinal);
        Assert.Equal(
            ["done", "failed", "matching", "upserting"], items.Where(item => item[Logs.EventId] == $"{Logs.LoadSeen}")
            .Select(item => item[Logs.State]).Distinct().Order());
        Assert.Equal(
            1, items.Last(item => item is { Kind: "MetricData", Name: Instruments.QueueMessages }
                && item[Tags.Queue] == "breach-slices-poison").Value);
        Assert.Empty(AddressSearch.Find(endpoint.Got.Select(one => one.Body), [.. PipelineRig.Expected(0, 450)]));
    }

    [Fact]
    public async Task Exporter_authenticates_as_the_managed_identity_when_configured()
    {
        await using var endpoint = await TelemetryEndpoint.StartAsync();
        // Tokens are sent only over TLS.
        await using var proxy = new TlsProxy("ingestion.example", new Uri(endpoint.Address));
        await using var host = await FunctionsHost.StartAsync(new Dictionary<string, string>
        {
            [TelemetryExport.ApplicationInsightsVariable] = Key + ";IngestionEndpoint=https://ingestion.example/",
            ["HTTPS_PROXY"] = $"{proxy.Address}",
            ["SSL_CERT_FILE"] = _folder.Write("ca.pem", proxy.CertificatePem),
            ["APPLICATIONINSIGHTS_AUTHENTICATION_STRING"] = "ClientId=the-app;Authorization=AAD",
            ["IDENTITY_ENDPOINT"] = endpoint.Identity.Address,
            ["IDENTITY_HEADER"] = endpoint.Identity.Header,
        });
        (await host.InvokeTimerAsync()).AssertDone();
        await host.StopWorkerAsync();
        Assert.NotEmpty(endpoint.Items);
        Assert.All(
            endpoint.Authorizations, one => Assert.StartsWith(
                "Bearer token-of-the-app-for-https://monitor.azure.com", one, StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("APPLICATIONINSIGHTS_AUTHENTICATION_STRING", "by post")]
    [InlineData(TelemetryExport.ApplicationInsightsVariable, "whatever")]
    [InlineData(TelemetryExport.ApplicationInsightsVariable, "IngestionEndpoint=http://127.0.0.1:1/")]
    [InlineData(TelemetryExport.ApplicationInsightsVariable, "InstrumentationKey=secret;IngestionEndpoint=::")]
    [InlineData(TelemetryExport.OtlpVariable, "localhost:4317")]
    [InlineData("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier pigeon")]
    public async Task Invalid_setting_fails_with_one_line(string variable, string value)
    {
        var variables = new Dictionary<string, string>
        {
            [TelemetryExport.ApplicationInsightsVariable] = Key,
            [TelemetryExport.OtlpVariable] = "http://127.0.0.1:1",
            [variable] = value,
        };
        var line = (await HibpInProcess.RunAsync(_folder.Path, variables, "run")).FailedWithOneLine();
        Assert.StartsWith($"error: {variable}: expected ", line, StringComparison.Ordinal);
        Assert.DoesNotContain(value, line, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Unreachable_endpoint_stops_nothing()
    {
        var variables = new Dictionary<string, string>
        {
            [TelemetryExport.ApplicationInsightsVariable] = Key + ";IngestionEndpoint=http://127.0.0.1:1/",
            [TelemetryExport.OtlpVariable] = "http://127.0.0.1:1",
        };
        var demo = (await HibpProcess.RunAsync(_folder.Path, variables, "demo", "--json")).Succeeded();
        Assert.Equal(
            demo.Json.Number("notifications"), Directory.GetFiles(Path.Combine(_folder.Path, ".hibp", "demo", "mail"), "*.eml").Length);
        Assert.DoesNotContain('@', demo.Error);
    }

    [Fact]
    public async Task Unresponsive_endpoint_delays_a_stop_by_seconds_only()
    {
        using var silent = new TcpListener(IPAddress.Loopback, 0);
        silent.Start();
        var variables = new Dictionary<string, string>
        {
            ["HIBP_STORAGE"] = await AzuriteFixture.NewAccountAsync(),
            [TelemetryExport.ApplicationInsightsVariable] = $"{Key};IngestionEndpoint=http://{silent.LocalEndpoint}/",
        };
        await using var host = await HibpProcess.StartAsync(_folder.Path, variables, "ready", "run");
        var began = Stopwatch.GetTimestamp();
        await host.TerminateAsync();
        Assert.InRange(Stopwatch.GetElapsedTime(began), TimeSpan.FromSeconds(4), TimeSpan.FromSeconds(25));
    }

    /// <summary>Returns every address in the sample: its accounts, found by a separate script, and its subscribers.</summary>
    private static async Task<IReadOnlyCollection<string>> PeopleAsync()
    {
        var people = (await AcceptanceContract.ExtractAsync(RepositoryFile.Path("samples/Contoso.zip"))).ToHashSet();
        Assert.Equal(5_000, people.Count);
        people.UnionWith(
            File.ReadLines(RepositoryFile.Path("samples/subscribers.csv")).Skip(1).Select(line => line.Split(',')[0].ToLowerInvariant()));
        return people;
    }
}
