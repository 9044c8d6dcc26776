namespace HibpIngest.Breaches;

/// <summary>Everything that a load's positions depend on, recorded when the load starts. Stored as JSON.</summary>
public sealed record LoadSettings
{
    /// <summary>Batch size of the published design: 20,000 rows. 25,000 timed out on its S3 database.</summary>
    public const int DefaultBatchRows = 20_000;

    /// <summary>Message size of the published design: 10,000 rows.</summary>
    public const int DefaultSliceRows = 10_000;

    /// <summary><c>AccountScanner.Version</c> at the start of the load.</summary>
    public required int ExtractorVersion { get; init; }

    /// <summary>Hash of the list of top-level domains, in hex.</summary>
    public required string TopLevelDomains { get; init; }

    public required ArchiveLimits Limits { get; init; }

    /// <summary>Maximum number of accounts kept for deduplication.</summary>
    public required long DedupeCap { get; init; }

    public int BatchRows { get; init; } = DefaultBatchRows;

    public int SliceRows { get; init; } = DefaultSliceRows;
}
