namespace HibpIngest.Breaches;

/// <summary>Everything a load's positions depend on, recorded when it starts. Stored as JSON.</summary>
public sealed record LoadSettings
{
    /// <summary>Published design's batch: 20,000 rows; 25,000 were seen to time out on its S3 database.</summary>
    public const int DefaultBatchRows = 20_000;

    /// <summary>Published design's message: 10,000 rows.</summary>
    public const int DefaultSliceRows = 10_000;

    /// <summary><c>AccountScanner.Version</c> that the load started with.</summary>
    public required int ExtractorVersion { get; init; }

    /// <summary>Hash of the list of top-level domains, hex.</summary>
    public required string TopLevelDomains { get; init; }

    public required ArchiveLimits Limits { get; init; }

    /// <summary>Most accounts remembered for dedupe.</summary>
    public required long DedupeCap { get; init; }

    public int BatchRows { get; init; } = DefaultBatchRows;

    public int SliceRows { get; init; } = DefaultSliceRows;
}
