namespace HibpIngest.Benchmarks;

/// <summary>What a simulated run came to.</summary>
/// <param name="Time">It took, for all accounts.</param>
/// <param name="Bound">The least that the published limits allow: of the fullest account, or of the largest partition.</param>
/// <param name="HotRate">Entities/s that the hot domain took, all its partitions together, until it had all.</param>
/// <param name="Refused">Of the requests, the part that was refused.</param>
/// <param name="Splits">Partitions that were split off.</param>
/// <param name="Transactions">That were done.</param>
internal sealed record SpreadResult(TimeSpan Time, TimeSpan Bound, double HotRate, double Refused, int Splits, long Transactions)
{
    /// <summary>Of what the limits allow.</summary>
    public double Rate => Bound / Time;
}
