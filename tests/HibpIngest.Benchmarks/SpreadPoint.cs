namespace HibpIngest.Benchmarks;

/// <summary>A point to simulate.</summary>
/// <param name="StorageAccounts">N.</param>
/// <param name="Partitions">M: the partitions of the largest domain.</param>
/// <param name="WithRanges">Whether hashes are written as well.</param>
/// <param name="IsRebuild">A rebuild instead of a load.</param>
internal sealed record SpreadPoint(int StorageAccounts, int Partitions, bool WithRanges, bool IsRebuild)
{
    /// <summary>Fault check: everything goes to the first storage account, whatever the layout says.</summary>
    public bool IsOneAccount { get; init; }

    /// <summary>Fault check: refused transactions are repeated at once.</summary>
    public bool IsHasty { get; init; }

    public override string ToString() =>
        $"{(IsRebuild ? "rebuild" : "load")}, N={StorageAccounts}, M={Partitions}, ranges {(WithRanges ? "on" : "off")}";
}
