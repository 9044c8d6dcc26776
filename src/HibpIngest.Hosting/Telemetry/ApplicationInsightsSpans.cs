using System.Diagnostics;
using HibpIngest.Telemetry;
using Microsoft.ApplicationInsights.DataContracts;
using Microsoft.ApplicationInsights.Extensibility.Implementation;
using OpenTelemetry;

namespace HibpIngest.Hosting.Telemetry;

/// <summary>
/// Spans as Application Insights has them: what a message set off is a request, what happens within it a
/// dependency, and the trace is the operation.
/// </summary>
internal sealed class ApplicationInsightsSpans(ApplicationInsightsSink sink) : BaseExporter<Activity>
{
    public override ExportResult Export(in Batch<Activity> batch)
    {
        foreach (var span in batch)
            sink.Send(
                span.Kind == ActivityKind.Consumer
                ? Fill(new RequestTelemetry { ResponseCode = span.Status == ActivityStatusCode.Error ? "Error" : "OK" }, span)
                : Fill(new DependencyTelemetry { Type = "InProc" }, span));
        return ExportResult.Success;
    }

    private static OperationTelemetry Fill(OperationTelemetry item, Activity span)
    {
        item.Id = span.SpanId.ToHexString();
        item.Name = span.DisplayName;
        item.Timestamp = new DateTimeOffset(span.StartTimeUtc, TimeSpan.Zero);
        item.Duration = span.Duration;
        item.Success = span.Status != ActivityStatusCode.Error;
        item.Context.Operation.Id = span.TraceId.ToHexString();
        item.Context.Operation.Name = span.DisplayName;
        if (span.ParentSpanId != default)
            item.Context.Operation.ParentId = span.ParentSpanId.ToHexString();
        foreach (var (name, value) in span.EnumerateTagObjects())
            ApplicationInsightsSink.Describe(item, name, value);
        ApplicationInsightsSink.Describe(item, TelemetryNames.Tags.Error, span.StatusDescription);
        return item;
    }
}
