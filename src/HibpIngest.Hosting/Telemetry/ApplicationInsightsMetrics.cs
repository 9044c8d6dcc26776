using Microsoft.ApplicationInsights.DataContracts;
using OpenTelemetry;
using OpenTelemetry.Metrics;

namespace HibpIngest.Hosting.Telemetry;

/// <summary>
/// Instruments as Application Insights' pre-aggregated metrics: a minute's sum of a counter, a gauge's last
/// value, a histogram's count, sum, least and most.
/// </summary>
internal sealed class ApplicationInsightsMetrics(ApplicationInsightsSink sink) : BaseExporter<Metric>
{
    public override ExportResult Export(in Batch<Metric> batch)
    {
        foreach (var metric in batch)
        {
            foreach (ref readonly var point in metric.GetMetricPoints())
            {
                var item = Item(metric, point);
                item.Timestamp = point.EndTime;
                foreach (var (name, value) in point.Tags)
                    ApplicationInsightsSink.Describe(item, name, value);
                sink.Send(item);
            }
        }
        return ExportResult.Success;
    }

    private static MetricTelemetry Item(Metric metric, in MetricPoint point)
    {
        if (metric.MetricType == MetricType.Histogram)
        {
            _ = point.TryGetHistogramMinMaxValues(out var least, out var most);
            return new MetricTelemetry(
                metric.Name, (int)Math.Min(point.GetHistogramCount(), int.MaxValue), point.GetHistogramSum(), least, most,
                standardDeviation: 0);
        }
        var value = metric.MetricType switch
        {
            MetricType.LongSum => point.GetSumLong(),
            MetricType.DoubleSum => point.GetSumDouble(),
            MetricType.LongGauge => point.GetGaugeLastValueLong(),
            MetricType.DoubleGauge => point.GetGaugeLastValueDouble(),
            _ => throw new NotSupportedException(
                $"instrument {metric.Name} is a {metric.MetricType}: say here how Application Insights is to have it"),
        };
        return new MetricTelemetry(metric.Name, 1, value, value, value, standardDeviation: 0);
    }
}
