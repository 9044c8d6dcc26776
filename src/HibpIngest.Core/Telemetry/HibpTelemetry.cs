using System.Diagnostics;
using System.Diagnostics.Metrics;
using static HibpIngest.Telemetry.TelemetryNames;

namespace HibpIngest.Telemetry;

/// <summary>
/// The pipeline's telemetry, under the names of <see cref="TelemetryNames"/>; a host decides where it goes. Recorded per batch, slice and
/// message, never per account. Counters of faults also record 0, so that a chart distinguishes no faults from no data.
/// </summary>
public static class HibpTelemetry
{
    public static readonly ActivitySource Source = new(TelemetryNames.Source);

    public static readonly Meter Meter = new(TelemetryNames.Source);

    private static readonly Counter<long> Accounts = Counter(Instruments.Accounts, Units.Accounts, "Accounts extracted");
    private static readonly Counter<long> Duplicates = Counter(
        Instruments.Duplicates, Units.Accounts, "Accounts extracted that their load had already");
    private static readonly Counter<long> Rejected = Counter(
        Instruments.Rejected, Units.Candidates, "Candidates rejected, by the first rule they broke");
    private static readonly Counter<long> Rows = Counter(Instruments.Rows, Units.Rows, "Rows copied into SQL");
    private static readonly Counter<long> Bytes = Counter(Instruments.Bytes, Units.Bytes, "Bytes of accounts copied into SQL");
    private static readonly Histogram<double> BatchDuration = Meter.CreateHistogram<double>(
        Instruments.BatchDuration, Units.Seconds, "One batch's transaction");
    private static readonly Counter<long> Entities = Counter(Instruments.Entities, Units.Entities, "Entities upserted");
    private static readonly Histogram<double> SliceDuration = Meter.CreateHistogram<double>(
        Instruments.SliceDuration, Units.Seconds, "One slice, from reading its rows to its last transaction");
    private static readonly Counter<long> SqlThrottles = Counter(
        Instruments.SqlThrottled, Units.Answers, "Answers of the database that asked to slow down");
    private static readonly Counter<long> SqlRetries = Counter(
        Instruments.SqlRetries, Units.Calls, "Calls on the database that were tried again");
    private static readonly Gauge<long> QueueMessages = Meter.CreateGauge<long>(
        Instruments.QueueMessages, Units.Messages, "Messages in a queue, about");
    private static readonly Gauge<double> QueueOldest = Meter.CreateGauge<double>(
        Instruments.QueueOldest, Units.Seconds, "Age of a queue's oldest visible message");
    private static readonly Counter<long> Notifications = Counter(
        Instruments.Notifications, Units.Notifications, "Notifications by outcome");
    private static readonly Counter<long> Callbacks = Counter(Instruments.Callbacks, Units.Calls, "Calls to clients by outcome");
    private static readonly Gauge<double> CallbackOldest = Meter.CreateGauge<double>(
        Instruments.CallbackOldest, Units.Seconds, "Age of a client's oldest call that could be made");
    private static readonly Gauge<double> LoadProgress = Meter.CreateGauge<double>(
        Instruments.LoadProgress, Units.Percent, "Part of a load's archive whose accounts can be looked up");
    private static readonly Gauge<long> LoadSlices = Meter.CreateGauge<long>(
        Instruments.LoadSlices, Units.Slices, "Slices of a load by state");
    private static readonly Histogram<double> WebDuration = Meter.CreateHistogram<double>(
        Instruments.WebDuration, Units.Seconds, "One request of the API, to the end of its answer");
    private static readonly Counter<long> AccessRecords = Counter(
        Instruments.AccessRecords, Units.Records, "Records of the access log, by outcome");
    private static readonly Counter<long> AccessAppends = Counter(Instruments.AccessAppends, Units.Calls, "Appends to the access log");

    private static readonly string[] Rules = Enum.GetNames<AccountRule>();

    /// <summary>The current span, if it is one of this source and not a web server's or a client's around it.</summary>
    public static Activity? Span => Activity.Current is { Source.Name: TelemetryNames.Source } span ? span : null;

    /// <summary>True if queue depths are observed; querying them costs requests.</summary>
    public static bool WatchesQueues => QueueMessages.Enabled || QueueOldest.Enabled;

    /// <summary>True if load progress is observed; querying it costs a request.</summary>
    public static bool WatchesLoads => LoadProgress.Enabled || LoadSlices.Enabled;
    public static bool WatchesWeb => WebDuration.Enabled;

    /// <summary>Records a completed database call.</summary>
    /// <param name="throttled">Number of responses that requested a lower rate.</param>
    public static void SqlCalled(int retries, int throttled)
    {
        SqlRetries.Add(retries);
        SqlThrottles.Add(throttled);
    }

    /// <summary>Records some thousand extracted accounts.</summary>
    /// <param name="accounts">Number of accounts, including duplicates.</param>
    /// <param name="duplicates">Accounts that the load already had.</param>
    /// <param name="rejectedBefore">Rejected candidates by rule, before these accounts.</param>
    /// <param name="rejected">The same counts after them.</param>
    public static void Extracted(int accounts, int duplicates, long[] rejectedBefore, long[] rejected)
    {
        Accounts.Add(accounts);
        Duplicates.Add(duplicates);
        if (!Rejected.Enabled)
            return;
        for (var rule = 0; rule < Rules.Length; rule++)
            Rejected.Add(rejected[rule] - rejectedBefore[rule], Tag(Tags.Rule, Rules[rule]));
    }

    public static void BatchCopied(int rows, int bytes, TimeSpan duration)
    {
        Rows.Add(rows);
        Bytes.Add(bytes);
        BatchDuration.Record(duration.TotalSeconds);
    }

    public static void SliceUpserted(int entities, TimeSpan duration)
    {
        Entities.Add(entities);
        SliceDuration.Record(duration.TotalSeconds);
    }

    /// <summary>Records the notifications of a message that were sent or permanently refused.</summary>
    public static void Notified(int sent, int refused)
    {
        Notifications.Add(sent, Tag(Tags.Outcome, "sent"));
        Notifications.Add(refused, Tag(Tags.Outcome, "refused"));
    }

    public static void Called(int client, string outcome, long calls) =>
        Callbacks.Add(calls, Tag(Tags.Client, client), Tag(Tags.Outcome, outcome));

    /// <summary>Records the age of a client's oldest waiting call; zero: none waits.</summary>
    public static void CallbackSeen(int client, TimeSpan oldest) =>
        CallbackOldest.Record(oldest.TotalSeconds, Tag(Tags.Client, client));

    /// <summary>Records a completed API request.</summary>
    /// <param name="route">Template of its route.</param>
    /// <param name="duration">To the end of the response.</param>
    public static void WebAnswered(string route, int status, TimeSpan duration) =>
        WebDuration.Record(duration.TotalSeconds, Tag(Tags.Route, route), Tag(Tags.Status, status));

    /// <summary>Records one durable append to the access log.</summary>
    public static void AccessLogged(int records)
    {
        AccessRecords.Add(records, Tag(Tags.Outcome, "logged"));
        AccessAppends.Add(1);
    }

    /// <summary>Records lost access log records: the buffer was full, or they were abandoned at shutdown.</summary>
    public static void AccessNotLogged(int records) => AccessRecords.Add(records, Tag(Tags.Outcome, "not_logged"));

    public static void QueueSeen(string queue, QueueDepth depth)
    {
        var tag = Tag(Tags.Queue, queue);
        QueueMessages.Record(depth.Messages, tag);
        QueueOldest.Record(depth.Oldest?.TotalSeconds ?? 0, tag);
    }

    public static void LoadSeen(Load load)
    {
        var (id, breach) = (Tag(Tags.Load, load.Id.Value), Tag(Tags.Breach, load.Breach));
        LoadProgress.Record(100 * load.SearchableFraction, id, breach);
        RecordSlices(SliceState.Pending, load.Slices.Pending);
        RecordSlices(SliceState.Queued, load.Slices.Queued);
        RecordSlices(SliceState.Done, load.Slices.Done);
        RecordSlices(SliceState.Failed, load.Slices.Failed);

        void RecordSlices(SliceState state, int slices) =>
            LoadSlices.Record(slices, id, breach, Tag(Tags.State, state.ToString().ToLowerInvariant()));
    }

    /// <param name="reason">One line without an address.</param>
    public static void Failed(string reason) => Span?.Fail(reason);

    /// <param name="reason">One line without an address.</param>
    public static void Fail(this Activity span, string reason) =>
        span.SetStatus(ActivityStatusCode.Error, reason).SetTag(Tags.Error, reason);

    private static KeyValuePair<string, object?> Tag(string name, object? value) => new(name, value);

    private static Counter<long> Counter(string name, string unit, string description) =>
        Meter.CreateCounter<long>(name, unit, description);
}
