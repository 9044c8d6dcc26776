using System.Diagnostics;
using System.Diagnostics.Metrics;
using HibpIngest.Breaches;

namespace HibpIngest.Telemetry;

/// <summary>The names under which the pipeline is watched; a contract. Nothing here holds an address.</summary>
public static class HibpTelemetry
{
    /// <summary>Name of the activity source and of the meter.</summary>
    public const string Name = "HibpIngest";

    /// <summary>Spans.</summary>
    public static readonly ActivitySource Source = new(Name);

    /// <summary>Instruments.</summary>
    public static readonly Meter Meter = new(Name);

    private static readonly Counter<long> Rows = Meter.CreateCounter<long>("hibp.ingest.rows", "{row}", "Rows copied into SQL");
    private static readonly Counter<long> Bytes = Meter.CreateCounter<long>("hibp.ingest.bytes", "By", "Bytes of accounts copied into SQL");
    private static readonly Histogram<double> BatchDuration = Meter.CreateHistogram<double>("hibp.ingest.batch.duration", "s", "One batch's transaction");
    private static readonly Counter<long> Entities = Meter.CreateCounter<long>("hibp.upsert.entities", "{entity}", "Entities upserted");
    private static readonly Histogram<double> SliceDuration = Meter.CreateHistogram<double>("hibp.upsert.slice.duration", "s", "One slice, from reading its rows to its last transaction");
    private static readonly Counter<long> Notifications = Meter.CreateCounter<long>("hibp.notifications", "{notification}", "Notifications by outcome");

    /// <summary>A batch's transaction has committed.</summary>
    internal static void BatchCopied(int rows, int bytes, TimeSpan duration)
    {
        Rows.Add(rows);
        Bytes.Add(bytes);
        BatchDuration.Record(duration.TotalSeconds);
    }

    /// <summary>A slice is in the table.</summary>
    internal static void SliceUpserted(int entities, TimeSpan duration)
    {
        Entities.Add(entities);
        SliceDuration.Record(duration.TotalSeconds);
    }

    /// <summary>A notification was sent, or refused for good.</summary>
    internal static void Notified(bool sent) => Notifications.Add(1, new KeyValuePair<string, object?>("outcome", sent ? "sent" : "refused"));

    /// <summary>Tags the current span with a load.</summary>
    internal static void Tag(Load load) => Activity.Current?.SetTag("hibp.load", load.Id).SetTag("hibp.breach", load.Breach);
}
