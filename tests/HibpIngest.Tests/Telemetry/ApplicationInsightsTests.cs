using HibpIngest.Hosting.Telemetry;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using OpenTelemetry.Metrics;
using OpenTelemetry.Trace;

namespace HibpIngest.Tests.Telemetry;

[Collection(ListeningAlone.Name)]
public sealed class ApplicationInsightsTests
{
    private const int Spans = 3_000;

    private static readonly ActivitySource Source = new(TelemetryNames.Source);

    [Fact]
    public async Task All_spans_and_log_lines_are_exported_and_none_of_the_exporters_own_metrics()
    {
        await using var endpoint = await TelemetryEndpoint.StartAsync();
        Send(endpoint.ConnectionString, Spans);

        var items = endpoint.Items;
        Assert.Equal(Spans, items.Count(item => item.Kind == "RequestData"));
        Assert.Equal(Spans, items.Count(item => item.Kind == "MessageData"));
        Assert.DoesNotContain(items, item => item.Kind == "MetricData" && !item.Name.StartsWith("hibp.", StringComparison.Ordinal));
        Assert.All(items, item => Assert.Equal(("HibpIngest", Environment.MachineName), item.Sender));
        Assert.All(endpoint.Got, one => Assert.Equal("/v2.1/track", one.Path));

        var spans = items.Where(item => item.IsSpan).ToDictionary(item => item.Id);
        Assert.All(
            spans.Values, item => Assert.Equal(
                ("load", item[TelemetryNames.Tags.Load] != "7", item[TelemetryNames.Tags.Load] == "7" ? "rows are missing" : ""),
                (item.Name, item.Success, item[TelemetryNames.Tags.Error])));
        Assert.All(
            items.Where(item => item.Kind == "MessageData"), item => Assert.Equal(
                ($"load {item["Load"]}", item["Load"], spans[item.Parent].Operation),
                (item.Message, spans[item.Parent][TelemetryNames.Tags.Load], item.Operation)));
    }

    private static void Send(string connection, int spans)
    {
        using var services = new ServiceCollection()
            .AddHibpTelemetry(new Dictionary<string, string> { [TelemetryExport.ApplicationInsightsVariable] = connection })
            .BuildServiceProvider();
        _ = (services.GetService<TracerProvider>(), services.GetService<MeterProvider>());
        var log = services.GetRequiredService<ILoggerFactory>().CreateLogger("HibpIngest.Anything");
        for (var load = 1; load <= spans; load++)
        {
            using var span = Source.StartActivity("load", ActivityKind.Consumer)!;
            span.SetTag(TelemetryNames.Tags.Load, load);
            log.LogInformation(new EventId(1_000), "load {Load}", load);
            if (load == 7)
                HibpTelemetry.Failed("rows are missing");
        }
    }
}
