namespace HibpIngest.Benchmarks;

/// <summary>What is simulated.</summary>
/// <param name="StorageAccounts">N.</param>
/// <param name="Partitions">M: those of the largest domain.</param>
/// <param name="WithRanges">Hashes are written beside accounts.</param>
/// <param name="IsRebuild">False: it is a load.</param>
internal sealed record SpreadPoint(int StorageAccounts, int Partitions, bool WithRanges, bool IsRebuild)
{
    /// <summary>To see that it shows: everything lies in the first storage account, whatever the layout says.</summary>
    public bool IsOneAccount { get; init; }

    /// <summary>To see that it shows: what is refused is sent again at once.</summary>
    public bool IsHasty { get; init; }

    public override string ToString() =>
        $"{(IsRebuild ? "rebuild" : "load")}, N={StorageAccounts}, M={Partitions}, ranges {(WithRanges ? "on" : "off")}";
}
