namespace HibpIngest.Cli.TableBench;

internal enum BenchOperation
{
    Insert,
    Merge,
    Read,
    Range,
}

/// <summary>Requests of one kind, with a constant number in flight.</summary>
/// <param name="Partitions">1 or <see cref="BenchPlan.Many"/>.</param>
internal sealed record BenchCell(BenchOperation Operation, int Rows, int Partitions, int InFlight)
{
    public int MaxRequests { get; init; }

    public bool IsWrite => Operation is BenchOperation.Insert or BenchOperation.Merge;

    public (BenchOperation Operation, int Rows, int Partitions) Series => (Operation, Rows, Partitions);

    public string Name => Operation switch
    {
        BenchOperation.Insert => "insert",
        BenchOperation.Merge => "merge",
        BenchOperation.Read => "point read",
        _ => "range",
    };
}

/// <summary>The measurements of a run, in their order: rows are written before they are merged and read.</summary>
internal sealed record BenchPlan(IReadOnlyList<BenchCell> Cells, TimeSpan Limit)
{
    public const int Many = 64;
    public const int MaxRows = 100;
    public const int MaxInFlight = 64;

    public static readonly IReadOnlyList<int> InFlight = [1, 4, 16, MaxInFlight];

    /// <summary>
    /// US dollars for 10,000 operations: price list of Table Storage, as published by third parties on 22 September 2026, see
    /// docs/deploying.md.
    /// </summary>
    private const decimal PricePerTenThousand = 0.00036m;

    /// <summary>A request in flight is sent again at most as often: five milliseconds is faster than any response of the service.</summary>
    private const int MaxPerSecondInFlight = 200;

    /// <summary>More than the 20,000 entities a second that the service accepts for an account.</summary>
    private const int MaxEntitiesPerSecond = 25_000;

    /// <summary>Requests before the first measurement, so that connections are open.</summary>
    public int WarmUp => Math.Min(MaxInFlight, Cells.Max(cell => cell.MaxRequests));

    public long MaxRequests => WarmUp + Cells.Sum(cell => (long)cell.MaxRequests);

    public long MaxEntities => WarmUp + Cells.Sum(cell => (long)cell.MaxRequests * cell.Rows);

    /// <summary>Maximum cost in US dollars, if each entity of a transaction is billed; a read or a query is one operation.</summary>
    public decimal MaxCost =>
        (WarmUp + Cells.Sum(cell => (long)cell.MaxRequests * (cell.IsWrite ? cell.Rows : 1))) * PricePerTenThousand / 10_000;

    /// <summary>The requests in flight at the end of a measurement are completed, which takes longer if the service is slow.</summary>
    public TimeSpan Duration => Limit * Cells.Count;

    /// <param name="limit">After this time, a measurement sends no further request.</param>
    public static BenchPlan Create(TimeSpan limit, int? maxRequests)
    {
        var cells =
            from kind in new (BenchOperation Operation, int Rows)[]
            {
                (BenchOperation.Insert, 1), (BenchOperation.Merge, 1), (BenchOperation.Insert, 10), (BenchOperation.Merge, 10),
                (BenchOperation.Insert, MaxRows), (BenchOperation.Merge, MaxRows), (BenchOperation.Read, 1),
                (BenchOperation.Range, MaxRows),
            }
            from partitions in new[] { 1, Many }
            from inFlight in InFlight
            let perSecond = Math.Min(inFlight * MaxPerSecondInFlight, MaxEntitiesPerSecond / kind.Rows)
            select new BenchCell(kind.Operation, kind.Rows, partitions, inFlight)
            {
                MaxRequests = Math.Max((int)Math.Min(perSecond * limit.TotalSeconds, maxRequests ?? int.MaxValue), 1),
            };
        return new BenchPlan([.. cells], limit);
    }
}
