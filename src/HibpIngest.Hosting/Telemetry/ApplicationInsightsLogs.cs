using System.Globalization;
using HibpIngest.Telemetry;
using Microsoft.ApplicationInsights.Channel;
using Microsoft.ApplicationInsights.DataContracts;
using Microsoft.Extensions.Logging;
using OpenTelemetry;
using OpenTelemetry.Logs;

namespace HibpIngest.Hosting.Telemetry;

/// <summary>
/// Log lines as Application Insights' traces, those with an exception as exceptions; within the operation of
/// the span they were written in.
/// </summary>
internal sealed class ApplicationInsightsLogs(ApplicationInsightsSink sink) : BaseExporter<LogRecord>
{
    // The template, which the line itself shows filled in.
    private const string Template = "{OriginalFormat}";

    public override ExportResult Export(in Batch<LogRecord> batch)
    {
        foreach (var line in batch)
            sink.Send(Item(line));
        return ExportResult.Success;
    }

    private static ITelemetry Item(LogRecord line)
    {
        var values = line.Attributes ?? [];
        var severity = line.LogLevel switch
        {
            LogLevel.Trace or LogLevel.Debug => SeverityLevel.Verbose,
            LogLevel.Information => SeverityLevel.Information,
            LogLevel.Warning => SeverityLevel.Warning,
            LogLevel.Error => SeverityLevel.Error,
            _ => SeverityLevel.Critical,
        };
        var text = line.FormattedMessage ?? "";
        ISupportProperties item = ExceptionGuard.Find(values, out var type, out var stack)
            ? new ExceptionTelemetry(
                [new ExceptionDetailsInfo(1, 0, type, text, hasFullStack: true, stack, [])], severity, type, new Dictionary<string,
                string>(), new Dictionary<string, double>())
            : new TraceTelemetry(text, severity);
        foreach (var (name, value) in values.Where(value => value.Key != Template))
            ApplicationInsightsSink.Describe(item, name, value);
        ApplicationInsightsSink.Describe(item, TelemetryNames.Logs.EventId, line.EventId.Id);
        ApplicationInsightsSink.Describe(item, TelemetryNames.Logs.Category, line.CategoryName);
        var telemetry = (ITelemetry)item;
        telemetry.Timestamp = new DateTimeOffset(line.Timestamp, TimeSpan.Zero);
        if (line.TraceId != default)
        {
            telemetry.Context.Operation.Id = line.TraceId.ToHexString();
            telemetry.Context.Operation.ParentId = line.SpanId.ToHexString();
        }
        return telemetry;
    }
}
