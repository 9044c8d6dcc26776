namespace HibpIngest.Accounts;

/// <summary>How many candidates broke each rule, and how many accounts were seen before (duplicates).</summary>
public sealed record RejectionCounts
{
    private static readonly int Rules = Enum.GetValues<AccountRule>().Length;

    /// <summary>
    /// Candidates by the first rule they broke, indexed by <see cref="AccountRule"/>. Counts that were stored before there
    /// was a rule lack its place, and get it here.
    /// </summary>
    public long[] ByRule { get; init => field = value.Length < Rules ? [.. value, .. new long[Rules - value.Length]] : value; } =
        new long[Rules];

    /// <summary>Accounts that kept every rule and had been seen in this load before.</summary>
    public long Duplicates { get; set; }

    /// <summary>All candidates that broke a rule; duplicates are not among them.</summary>
    public long Total => ByRule.Sum();

    public RejectionCounts Copy() => new() { ByRule = [.. ByRule], Duplicates = Duplicates };
}
