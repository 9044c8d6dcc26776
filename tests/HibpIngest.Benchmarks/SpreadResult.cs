namespace HibpIngest.Benchmarks;

/// <summary>The result of a simulated run.</summary>
/// <param name="Time">Duration for all accounts.</param>
/// <param name="Bound">The least time that the published limits allow, for the fullest account or the largest
/// partition.</param>
/// <param name="HotRate">Entities/s that the hot domain took over all its partitions until it was complete.</param>
/// <param name="Refused">The share of requests that were refused.</param>
/// <param name="Splits">Partition splits.</param>
/// <param name="Transactions">Completed transactions.</param>
internal sealed record SpreadResult(TimeSpan Time, TimeSpan Bound, double HotRate, double Refused, int Splits, long Transactions)
{
    /// <summary>Speed relative to the limits.</summary>
    public double Rate => Bound / Time;
}
