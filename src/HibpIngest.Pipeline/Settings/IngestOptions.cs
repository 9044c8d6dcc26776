using System.ComponentModel.DataAnnotations;

namespace HibpIngest.Pipeline.Settings;

public sealed class IngestOptions
{
    /// <summary>Rows copied in one transaction. A load keeps the value it started with.</summary>
    [Range(1, 1_000_000)]
    public int BatchRows { get; set; } = LoadSettings.DefaultBatchRows;

    /// <summary>Rows upserted by one message. A load keeps the value it started with.</summary>
    [Range(1, 100_000)]
    public int SliceRows { get; set; } = LoadSettings.DefaultSliceRows;

    /// <summary>
    /// Maximum number of accounts remembered for deduplication. 0: 50 million, or as many as fit into 40% of the process's memory
    /// limit at 24 bytes each if that is less.
    /// </summary>
    [Range(0, long.MaxValue)]
    public long DedupeCap { get; set; }

    public ArchiveLimits Limits { get; set; } = new();

    /// <summary>
    /// How long an ingest runs after its first commit before it hands over to a continuation; zero: until the load is copied. The
    /// Functions app sets it below its plan's limit.
    /// </summary>
    [Range(typeof(TimeSpan), "00:00:00", "7.00:00:00")]
    public TimeSpan TimeBudget { get; set; } = TimeSpan.Zero;

    /// <summary>
    /// How long one invocation of an ingest may run, including the time to skip to the checkpoint; zero: no limit. An invocation that
    /// reaches it after a commit hands over. One that reaches it before its first commit would do so on every retry, so the load fails
    /// with that reason. The Functions app sets it below its plan's limit.
    /// </summary>
    [Range(typeof(TimeSpan), "00:00:00", "7.00:00:00")]
    public TimeSpan PlanLimit { get; set; } = TimeSpan.Zero;

    /// <summary>
    /// How long the lease of a load lasts without renewal; each batch renews it, and a timer at a third of it. Long enough for several
    /// batches, short enough that a crash costs seconds.
    /// </summary>
    [Range(typeof(TimeSpan), "00:00:01", "7.00:00:00")]
    public TimeSpan LoadLease { get; set; } = TimeSpan.FromSeconds(30);
}
