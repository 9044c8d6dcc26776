using System.ComponentModel.DataAnnotations;

namespace HibpIngest.Breaches;

/// <summary>
/// What an archive may ask of us. Everything is counted while reading and never believed from headers; the
/// first limit passed fails the load.
/// </summary>
public sealed record ArchiveLimits
{
    /// <summary>
    /// Most entries, those of nested archives included. The largest published stealer-log corpora hold some
    /// hundred thousand files.
    /// </summary>
    [Range(1, int.MaxValue)]
    public int MaxEntries { get; init; } = 1_000_000;

    /// <summary>How many archives deep text may lie below the dropped file; 0 opens none.</summary>
    [Range(0, int.MaxValue)]
    public int MaxNesting { get; init; } = 3;

    /// <summary>Most bytes inflated, all levels together (1 TiB: some twenty billion addresses).</summary>
    [Range(1, long.MaxValue)]
    public long MaxInflatedBytes { get; init; } = 1L << 40;

    /// <summary>
    /// Most bytes inflated for each byte of the outer archive, once past <see cref="RatioGraceBytes"/>. Deflate
    /// can't pass 1,032 in one level; real dumps stay below 40.
    /// </summary>
    [Range(1, int.MaxValue)]
    public int MaxInflationRatio { get; init; } = 200;

    /// <summary>
    /// Most compressed bytes that inflate to nothing, all levels together: of each entry, those beyond what
    /// came out of it, an eighth of that and 1 KiB. Deflate blocks that are only tables are read at 0.6 to 3.5
    /// MB/s (64 MiB: up to two minutes).
    /// </summary>
    [Range(0, long.MaxValue)]
    public long MaxIdleBytes { get; init; } = 64L << 20;

    /// <summary>
    /// Bytes that may be inflated before the ratio is looked at, so that a tiny file of one repeated line is no
    /// bomb.
    /// </summary>
    [Range(0, long.MaxValue)]
    public long RatioGraceBytes { get; init; } = 64L << 20;
}
