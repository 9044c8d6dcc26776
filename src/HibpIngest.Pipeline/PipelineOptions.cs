using System.ComponentModel.DataAnnotations;
using HibpIngest.Archives;
using HibpIngest.Breaches;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>How the pipeline works; read from environment variables with the prefix HIBP_ (HIBP_BATCHROWS=10000).</summary>
public sealed class PipelineOptions
{
    /// <summary>Prefix of the environment variables.</summary>
    public const string SectionName = "HIBP_";

    /// <summary>Rows copied in one transaction, for loads that start from now on.</summary>
    [Range(1, 1_000_000)]
    public int BatchRows { get; set; } = LoadSettings.DefaultBatchRows;

    /// <summary>Rows one message upserts, for loads that start from now on.</summary>
    [Range(1, 100_000)]
    public int SliceRows { get; set; } = LoadSettings.DefaultSliceRows;

    /// <summary>
    /// Most accounts remembered for dedupe; 0: 50 million, or what fits into 40% of the process's memory limit
    /// at 24 bytes each, whichever is less.
    /// </summary>
    [Range(0, long.MaxValue)]
    public long DedupeCap { get; set; }

    /// <summary>What an archive may ask of us, for loads that start from now on.</summary>
    public ArchiveLimits Limits { get; set; } = new();

    /// <summary>
    /// How long an ingest may run from its first commit before it hands over to a continuation; zero: to the
    /// end. Functions set it below their own limit.
    /// </summary>
    [Range(typeof(TimeSpan), "00:00:00", "7.00:00:00")]
    public TimeSpan TimeBudget { get; set; } = TimeSpan.Zero;

    /// <summary>
    /// How long one invocation of an ingest may run, what it reads through again included; zero: without end.
    /// One that reaches it after a commit hands over; one that reaches it before its first commit would do so
    /// each time, so its load fails with the reason. Functions set it below their plan's limit.
    /// </summary>
    [Range(typeof(TimeSpan), "00:00:00", "7.00:00:00")]
    public TimeSpan PlanLimit { get; set; } = TimeSpan.Zero;

    /// <summary>
    /// How long a load stays with an owner that gives no sign; renewed at a third of it, and by each batch.
    /// Some batches' worth, and short enough that a crash costs seconds.
    /// </summary>
    [Range(typeof(TimeSpan), "00:00:01", "7.00:00:00")]
    public TimeSpan LoadLease { get; set; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// How long a slice stays with an owner that gives no sign; renewed at a third of it. Longer than a moment
    /// without the database, short enough that a crash costs a minute.
    /// </summary>
    [Range(typeof(TimeSpan), "00:00:01", "7.00:00:00")]
    public TimeSpan SliceLease { get; set; } = TimeSpan.FromSeconds(60);

    /// <summary>
    /// Entity group transactions in flight for each slice. Measured against the emulator: more than 16 gains
    /// nothing there; Azure's own gain goes on to 64.
    /// </summary>
    [Range(1, 512)]
    public int TransactionsInFlight { get; set; } = 16;

    /// <summary>
    /// Tries of a slice, a match or a mail message that fails in itself; the host's maxDequeueCount is the
    /// same.
    /// </summary>
    [Range(1, 100)]
    public int MaxTries { get; set; } = 5;

    /// <summary>
    /// Whether a new store writes ranges by hash, so that they can be asked for from its first account on. Says
    /// nothing for a store that is there.
    /// </summary>
    public RangesMode Ranges { get; set; } = RangesMode.On;

    /// <summary>Whether loads are written into the account log.</summary>
    public LogMode Log { get; set; } = LogMode.On;

    /// <summary>
    /// Batches of a segment of the account log, for loads that are cut into segments from now on; 400 of 20,000 rows are
    /// some 100 MB. A segment has 8,000,000 rows at most, however many these make.
    /// </summary>
    [Range(1, 400)]
    public int SegmentBatches { get; set; } = 400;

    /// <summary>Positions matched in one statement.</summary>
    [Range(1, 100_000_000)]
    public int MatchRows { get; set; } = 1_000_000;

    /// <summary>Notifications sent by one message.</summary>
    [Range(1, 10_000)]
    public int MailsPerMessage { get; set; } = 100;

    /// <summary>
    /// Mails a second for the whole system, however many loads and processes send: a sender reserves the time
    /// for its mails in SQL. Ten is what a small relay takes without throttling.
    /// </summary>
    [Range(0.01, 10_000)]
    public double MailsPerSecond { get; set; } = 10;

    /// <summary>
    /// What becomes of notifications once they are matched: hold has them wait for an operator, whatever the
    /// zip's metadata asks for.
    /// </summary>
    public NotifyMode Notify { get; set; } = NotifyMode.Send;

    /// <summary>How long a claimed notification stays with a sender that gives no sign.</summary>
    [Range(typeof(TimeSpan), "00:00:01", "7.00:00:00")]
    public TimeSpan MailClaim { get; set; } = TimeSpan.FromMinutes(10);

    /// <summary>
    /// How long a call to a client that failed waits for its next try, and a client that takes none for its next call; doubled each
    /// time, up to an hour.
    /// </summary>
    [Range(typeof(TimeSpan), "00:00:00.1", "01:00:00")]
    public TimeSpan CallPause { get; set; } = TimeSpan.FromSeconds(10);

    /// <summary>How long calls to a client fail before they are given up, for an operator.</summary>
    [Range(typeof(TimeSpan), "00:00:01", "20.00:00:00")]
    public TimeSpan CallGiveUp { get; set; } = TimeSpan.FromDays(3);

    /// <summary>For tests: clients may be called by http, and on this machine.</summary>
    public bool CallLoopback { get; set; }

    /// <summary>Sender of the mails (HIBP_MAIL_FROM).</summary>
    public string MailFrom { get; set; } = "notifications@localhost";

    /// <summary>
    /// Where the web is (HIBP_WEB_URL), without a slash at the end: every link in an answer is made from it, never from what
    /// a request calls its host.
    /// </summary>
    public string WebUrl { get; set; } = "http://127.0.0.1:8080";

    /// <summary>Sweep sends slices that have been pending for so long.</summary>
    [Range(typeof(TimeSpan), "00:00:00", "7.00:00:00")]
    public TimeSpan SweepPendingAge { get; set; } = TimeSpan.FromMinutes(2);

    /// <summary>
    /// Sweep sends a load's messages again when nothing was heard of its work for so long: twice the longest
    /// time that a message can stay hidden (10 minutes, as a delay or while a host works on it).
    /// </summary>
    [Range(typeof(TimeSpan), "00:00:00", "7.00:00:00")]
    public TimeSpan SweepStaleAge { get; set; } = TimeSpan.FromMinutes(20);

    /// <summary>Sweep starts dropped files of this age that have no load: events do get lost.</summary>
    [Range(typeof(TimeSpan), "00:00:00", "7.00:00:00")]
    public TimeSpan SweepBlobAge { get; set; } = TimeSpan.FromMinutes(2);

    /// <summary>
    /// Days that a blob of the access log is kept once its records are counted; 0: for ever. The counts are kept in any case
    /// (HIBP_ACCESSLOG_DAYS).
    /// </summary>
    [Range(0, 36_500)]
    public int AccessLogDays { get; set; } = 30;
}
