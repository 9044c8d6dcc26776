namespace HibpIngest.Cli.Samples;

/// <summary>Options of a synthetic breach. The same options give the same text.</summary>
public sealed record SampleOptions
{
    /// <summary>Maximum number of accounts: the range of <see cref="SampleAccounts"/>.</summary>
    public const long MaxAccounts = SampleAccounts.MaxIndex + 1;

    /// <summary>Distinct accounts; 1 to <see cref="MaxAccounts"/>.</summary>
    public required long Accounts { get; init; }

    /// <summary>Another seed gives other accounts: two samples of a million each share about ten.</summary>
    public int Seed { get; init; } = 1;

    /// <summary>
    /// Accounts in each hundred that are shared with the sample with <see cref="OverlapSeed"/> and at least as many accounts; 0 to 100.
    /// </summary>
    public int OverlapPercent { get; init; }

    /// <summary>Seed of the sample that this one overlaps with.</summary>
    public int OverlapSeed { get; init; }
}
