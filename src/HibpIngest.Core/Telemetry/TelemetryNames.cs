namespace HibpIngest.Telemetry;

/// <summary>
/// All telemetry names and units of the pipeline. A contract: dashboards, alerts (infra/) and operators' queries use them, so names may be
/// added, but never renamed. Values of tags are ids, counts, names of breaches, queues and states, and one-line reasons; never an address.
/// docs/telemetry.md describes each of them.
/// </summary>
public static class TelemetryNames
{
    /// <summary>Name of the activity source and of the meter.</summary>
    public const string Source = "HibpIngest";

    /// <summary>Reason of a span that was cancelled: not a fault, and excluded from failure counts.</summary>
    public const string Stopped = UnexpectedError.Stopped;

    public static class Spans
    {
        public const string Load = "load";
        public const string Batch = "batch";
        public const string Slice = "slice";
        public const string Match = "match";
        public const string Send = "send";
        public const string Journal = "log";
        public const string Call = "call";
        public const string Deliver = "deliver";
    }

    public static class Tags
    {
        public const string Load = "hibp.load";
        public const string Breach = "hibp.breach";
        public const string Batch = "hibp.batch";
        public const string Slice = "hibp.slice";
        public const string Attempt = "hibp.attempt";
        public const string Accounts = "hibp.accounts";
        public const string Bytes = "hibp.bytes";
        public const string Slices = "hibp.slices";
        public const string Entities = "hibp.entities";
        public const string Notifications = "hibp.notifications";
        public const string First = "hibp.first";
        public const string Last = "hibp.last";
        public const string Sent = "hibp.sent";
        public const string Refused = "hibp.refused";

        /// <summary>Reason why a span failed, in one line: its status description, which Application Insights doesn't receive.</summary>
        public const string Error = "hibp.error";
        public const string Clients = "hibp.clients";
        public const string Client = "hibp.client";
        public const string State = "hibp.state";
        public const string Rule = "hibp.rule";
        public const string Queue = "hibp.queue";
        public const string Outcome = "hibp.outcome";

        /// <summary>Template of the API's route; never a path.</summary>
        public const string Route = "http.route";
        public const string Status = "http.response.status_code";
    }

    /// <summary>Properties of log lines in Application Insights, in addition to each line's own values.</summary>
    public static class Logs
    {
        /// <summary>
        /// Event id of the line that reports a load's progress, each minute while it is open and when its state changes. Its values:
        /// <see cref="Load"/>, <see cref="Breach"/>, <see cref="State"/>, <see cref="Progress"/>.
        /// </summary>
        public const int LoadSeen = EventIds.LoadSeen;
        public const string Load = "Load";
        public const string Breach = "Breach";
        public const string State = "State";
        public const string Progress = "Progress";

        /// <summary>Id of the event, which is also a contract (see <see cref="EventIds"/>).</summary>
        public const string EventId = "EventId";
        public const string Category = "CategoryName";
    }

    public static class Instruments
    {
        public const string Accounts = "hibp.ingest.accounts";
        public const string Duplicates = "hibp.ingest.duplicates";
        public const string Rejected = "hibp.ingest.rejected";
        public const string Rows = "hibp.ingest.rows";
        public const string Bytes = "hibp.ingest.bytes";
        public const string BatchDuration = "hibp.ingest.batch.duration";
        public const string WebDuration = "hibp.web.request.duration";
        public const string AccessRecords = "hibp.access.records";
        public const string AccessAppends = "hibp.access.appends";
        public const string Entities = "hibp.upsert.entities";
        public const string SliceDuration = "hibp.upsert.slice.duration";
        public const string TableTransactions = "hibp.table.transactions";
        public const string TableThrottled = "hibp.table.throttled";
        public const string TableRetries = "hibp.table.retries";
        public const string SqlThrottled = "hibp.sql.throttled";
        public const string SqlRetries = "hibp.sql.retries";
        public const string QueueMessages = "hibp.queue.messages";
        public const string QueueOldest = "hibp.queue.oldest";
        public const string Notifications = "hibp.notifications";
        public const string Callbacks = "hibp.callbacks";
        public const string CallbackOldest = "hibp.callbacks.oldest";
        public const string LoadProgress = "hibp.load.progress";
        public const string LoadSlices = "hibp.load.slices";
    }

    /// <summary>Units, by UCUM (ucum.org) as OpenTelemetry writes them.</summary>
    public static class Units
    {
        public const string Accounts = "{account}";
        public const string Candidates = "{candidate}";
        public const string Rows = "{row}";
        public const string Bytes = "By";
        public const string Seconds = "s";
        public const string Entities = "{entity}";
        public const string Transactions = "{transaction}";
        public const string Answers = "{answer}";
        public const string Calls = "{call}";
        public const string Messages = "{message}";
        public const string Notifications = "{notification}";
        public const string Slices = "{slice}";
        public const string Percent = "%";
        public const string Records = "{record}";
    }
}
