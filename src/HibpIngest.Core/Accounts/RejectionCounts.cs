namespace HibpIngest.Accounts;

/// <summary>Rejected candidates by rule, and duplicate accounts.</summary>
public sealed record RejectionCounts
{
    private static readonly int Rules = Enum.GetValues<AccountRule>().Length;

    /// <summary>
    /// Candidates by the first rule they broke, indexed by <see cref="AccountRule"/>. Counts stored before a rule was added are shorter and
    /// are padded with zeros.
    /// </summary>
    public long[] ByRule { get; init => field = value.Length < Rules ? [.. value, .. new long[Rules - value.Length]] : value; } =
        new long[Rules];

    /// <summary>Valid accounts that the load already had.</summary>
    public long Duplicates { get; set; }

    /// <summary>All rejected candidates, without duplicates.</summary>
    public long Total => ByRule.Sum();

    public RejectionCounts Copy() => new() { ByRule = [.. ByRule], Duplicates = Duplicates };
}
