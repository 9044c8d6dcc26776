using HibpIngest.Errors;

namespace HibpIngest.Telemetry;

/// <summary>
/// All telemetry names and units of the pipeline. A contract: dashboards, alerts (infra/) and operators' queries use them, so
/// names may be added, but never renamed. Values of tags are ids, counts, names of breaches, queues and states, and one-line
/// reasons; never an address.
/// </summary>
public static class TelemetryNames
{
    /// <summary>Name of the activity source and of the meter.</summary>
    public const string Source = "HibpIngest";

    /// <summary>Reason of a span that was cancelled: not a fault, and excluded from failure counts.</summary>
    public const string Stopped = UnexpectedError.Stopped;

    /// <summary>Spans. One load is one trace, whose id is derived from the store and the load (see <see cref="LoadTrace"/>).</summary>
    public static class Spans
    {
        /// <summary>
        /// One run of a load's ingest: from the drop, or a continuation, to its end or the next continuation. Consumer. Tags:
        /// load, breach.
        /// </summary>
        public const string Load = "load";

        /// <summary>One batch's transaction, within its load span. Internal. Tags: load, breach, batch, accounts, bytes, slices.</summary>
        public const string Batch = "batch";

        /// <summary>
        /// One attempt of a slice; its parent is the batch that contains it. Consumer. Tags: load, breach, slice, attempt,
        /// accounts, entities.
        /// </summary>
        public const string Slice = "slice";

        /// <summary>
        /// One run of a load's matching; its parent is the last slice's span. Consumer. Tags: load, breach, accounts,
        /// notifications.
        /// </summary>
        public const string Match = "match";

        /// <summary>
        /// One message's notifications; its parent is the match span. Consumer. Tags: load, breach, first, last, sent, refused.
        /// </summary>
        public const string Send = "send";

        /// <summary>
        /// One run of writing a load to the account log; its parent is the sender of its message. Consumer. Tags: load, breach,
        /// accounts.
        /// </summary>
        public const string Log = "log";

        /// <summary>
        /// One search of a slice for watched prefixes; its parent is the sender of its message. Consumer. Tags: load, breach,
        /// slice, accounts, clients.
        /// </summary>
        public const string Call = "call";

        /// <summary>
        /// One lease on a client, in which it is called; its parent is the sender of its message. Consumer, of the first load
        /// called for. Tags: load, breach, client, sent, refused.
        /// </summary>
        public const string Deliver = "deliver";
    }

    /// <summary>Tags of spans and instruments.</summary>
    public static class Tags
    {
        public const string Load = "hibp.load";

        public const string Breach = "hibp.breach";

        /// <summary>Number of the batch within its load, from 1.</summary>
        public const string Batch = "hibp.batch";

        /// <summary>Number of the slice within its load, from 1, as in <c>hibp requeue BREACH --slice N</c>.</summary>
        public const string Slice = "hibp.slice";

        /// <summary>Attempts of the slice since it was last requeued, including this one.</summary>
        public const string Attempt = "hibp.attempt";

        /// <summary>Accounts in the batch or slice, or matched.</summary>
        public const string Accounts = "hibp.accounts";

        /// <summary>Bytes of the batch's accounts.</summary>
        public const string Bytes = "hibp.bytes";

        /// <summary>Slices that the batch made.</summary>
        public const string Slices = "hibp.slices";

        /// <summary>Entities that the slice upserted.</summary>
        public const string Entities = "hibp.entities";

        /// <summary>Notifications that matching found.</summary>
        public const string Notifications = "hibp.notifications";

        /// <summary>Number of the message's first notification within its load.</summary>
        public const string First = "hibp.first";

        /// <summary>Number of the message's last notification within its load.</summary>
        public const string Last = "hibp.last";

        public const string Sent = "hibp.sent";

        /// <summary>Permanently refused notifications.</summary>
        public const string Refused = "hibp.refused";

        /// <summary>Why a span failed, in one line: its status description, which Application Insights doesn't receive.</summary>
        public const string Error = "hibp.error";

        /// <summary>Number of clients with watched prefixes in a slice.</summary>
        public const string Clients = "hibp.clients";

        /// <summary>Number of a client that is called back.</summary>
        public const string Client = "hibp.client";

        /// <summary>State of slices: pending, queued, done, failed.</summary>
        public const string State = "hibp.state";

        /// <summary>Rule that a candidate broke: a name of <see cref="Accounts.AccountRule"/>.</summary>
        public const string Rule = "hibp.rule";

        public const string Queue = "hibp.queue";

        /// <summary>
        /// Outcome of a notification: sent, refused; of an access log record: logged, not_logged; of a call to a client:
        /// accepted, throttled, gone, refused, unreachable, forbidden.
        /// </summary>
        public const string Outcome = "hibp.outcome";

        /// <summary>Template of the API's route; never a path.</summary>
        public const string Route = "http.route";

        /// <summary>Status of the API's response.</summary>
        public const string Status = "http.response.status_code";
    }

    /// <summary>Properties of log lines in Application Insights, in addition to each line's own values.</summary>
    public static class Logs
    {
        /// <summary>
        /// Event id of the line that reports a load's progress, each minute while it is open and when its state changes. Its
        /// values: <see cref="Load"/>, <see cref="Breach"/>, <see cref="State"/>, <see cref="Progress"/>.
        /// </summary>
        public const int LoadSeen = EventIds.LoadSeen;

        public const string Load = "Load";

        public const string Breach = "Breach";

        /// <summary>State of the load: ingesting, upserting, matching, held, notifying, done, failed.</summary>
        public const string State = "State";

        /// <summary>See <see cref="Instruments.LoadProgress"/>.</summary>
        public const string Progress = "Progress";

        /// <summary>Id of the event, which is also a contract (see <see cref="EventIds"/>).</summary>
        public const string EventId = "EventId";

        /// <summary>Category: the class that wrote the line.</summary>
        public const string Category = "CategoryName";
    }

    public static class Instruments
    {
        /// <summary>Counter: accounts extracted by this process, including duplicates and accounts that a resume reads again.</summary>
        public const string Accounts = "hibp.ingest.accounts";

        /// <summary>Counter: extracted accounts that their load already had.</summary>
        public const string Duplicates = "hibp.ingest.duplicates";

        /// <summary>Counter: candidates rejected, by the first rule they broke. Tag: rule.</summary>
        public const string Rejected = "hibp.ingest.rejected";

        /// <summary>Counter: rows copied into SQL, recorded when their batch has committed.</summary>
        public const string Rows = "hibp.ingest.rows";

        /// <summary>Counter: bytes of accounts copied into SQL.</summary>
        public const string Bytes = "hibp.ingest.bytes";

        /// <summary>Histogram: one batch's transaction.</summary>
        public const string BatchDuration = "hibp.ingest.batch.duration";

        /// <summary>Histogram: one request of the API, to the end of the response. Tags: route, status.</summary>
        public const string WebDuration = "hibp.web.request.duration";

        /// <summary>Counter: records of the access log. Tag: outcome.</summary>
        public const string AccessRecords = "hibp.access.records";

        /// <summary>Counter: appends to the access log, each of many records.</summary>
        public const string AccessAppends = "hibp.access.appends";

        /// <summary>Counter: entities upserted, recorded when their slice is complete.</summary>
        public const string Entities = "hibp.upsert.entities";

        /// <summary>Histogram: one slice, from reading its rows to its last transaction.</summary>
        public const string SliceDuration = "hibp.upsert.slice.duration";

        /// <summary>Counter: upsert transactions executed by the table service, each of 1 to 100 accounts.</summary>
        public const string TableTransactions = "hibp.table.transactions";

        /// <summary>
        /// Counter: responses of the table service that asked to slow down (429, 503), as a whole or within a transaction.
        /// </summary>
        public const string TableThrottled = "hibp.table.throttled";

        /// <summary>Counter: retried requests to the table service.</summary>
        public const string TableRetries = "hibp.table.retries";

        /// <summary>Counter: responses of the database that asked to slow down.</summary>
        public const string SqlThrottled = "hibp.sql.throttled";

        /// <summary>Counter: retried database calls.</summary>
        public const string SqlRetries = "hibp.sql.retries";

        /// <summary>
        /// Gauge, each minute: approximate number of messages in a queue, including invisible ones. Tag: queue (including
        /// poison queues).
        /// </summary>
        public const string QueueMessages = "hibp.queue.messages";

        /// <summary>Gauge, each minute: age of a queue's oldest visible message; 0 if there is none. Tag: queue.</summary>
        public const string QueueOldest = "hibp.queue.oldest";

        /// <summary>Counter: notifications. Tag: outcome.</summary>
        public const string Notifications = "hibp.notifications";

        /// <summary>Counter: calls to clients. Tags: client, outcome.</summary>
        public const string Callbacks = "hibp.callbacks";

        /// <summary>Gauge, each minute while any are open: age of a client's oldest call that could be made. Tag: client.</summary>
        public const string CallbackOldest = "hibp.callbacks.oldest";

        /// <summary>
        /// Gauge, for open loads, each minute and when a load's state changes: the part of the archive whose accounts are
        /// searchable, in percent: bytes of the blob read / bytes of the blob x slices done / slices created. Tags: load,
        /// breach.
        /// </summary>
        public const string LoadProgress = "hibp.load.progress";

        /// <summary>Gauge, together with <see cref="LoadProgress"/>: slices of a load. Tags: load, breach, state (of the slices).</summary>
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
