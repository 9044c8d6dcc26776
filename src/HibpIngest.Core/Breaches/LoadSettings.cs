using System.ComponentModel.DataAnnotations;

namespace HibpIngest.Breaches;

/// <summary>Everything that a load's positions depend on, recorded when the load starts. Stored as JSON.</summary>
public sealed record LoadSettings
{
    /// <summary>Batch size of the published design: 20,000 rows. 25,000 timed out on its database (Azure SQL, tier S3).</summary>
    public const int DefaultBatchRows = 20_000;

    /// <summary>Message size of the published design: 10,000 rows.</summary>
    public const int DefaultSliceRows = 10_000;

    /// <summary><c>AccountScanner.Version</c> at the start of the load.</summary>
    public required int ExtractorVersion { get; init; }

    /// <summary>Hash of the list of top-level domains, in hex.</summary>
    public required string TopLevelDomains { get; init; }
    public required ArchiveLimits Limits { get; init; }
    public required long DedupeCap { get; init; }
    public int BatchRows { get; init; } = DefaultBatchRows;
    public int SliceRows { get; init; } = DefaultSliceRows;
}

/// <summary>
/// Limits for reading an archive, enforced by counting while reading; a zip that states too many entries is refused at once. Exceeding any
/// limit fails the load.
/// </summary>
public sealed record ArchiveLimits
{
    /// <summary>
    /// Maximum number of entries, including those of nested archives. The largest published stealer-log corpora hold some hundred thousand
    /// files.
    /// </summary>
    [Range(1, int.MaxValue)]
    public int MaxEntries { get; init; } = 1_000_000;

    /// <summary>Maximum depth of nested archives below the dropped file; 0 opens none.</summary>
    [Range(0, int.MaxValue)]
    public int MaxNesting { get; init; } = 3;

    /// <summary>Maximum inflated bytes, all levels together (1 TiB: some twenty billion addresses).</summary>
    [Range(1, long.MaxValue)]
    public long MaxInflatedBytes { get; init; } = 1L << 40;

    /// <summary>
    /// Maximum inflated bytes per byte of the outer archive, checked after <see cref="RatioGraceBytes"/>. Deflate can't exceed 1,032 in one
    /// level; real dumps stay below 40.
    /// </summary>
    [Range(1, int.MaxValue)]
    public int MaxInflationRatio { get; init; } = 200;

    /// <summary>
    /// Maximum compressed bytes that inflate to nothing, all levels together. For each entry, these are the compressed bytes beyond the sum
    /// of 1 KiB and 9/8 of the inflated bytes. Deflate blocks that hold only tables are read at 0.6 to 3.5 MB/s (64 MiB: up to two
    /// minutes).
    /// </summary>
    [Range(0, long.MaxValue)]
    public long MaxIdleBytes { get; init; } = 64L << 20;

    /// <summary>
    /// Bytes that may be inflated before the ratio is checked, so that a tiny file of one repeated line is not rejected as a bomb.
    /// </summary>
    [Range(0, long.MaxValue)]
    public long RatioGraceBytes { get; init; } = 64L << 20;
}
