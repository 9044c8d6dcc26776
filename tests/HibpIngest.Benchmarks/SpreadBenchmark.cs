namespace HibpIngest.Benchmarks;

/// <summary>
/// Simulates, in virtual time, how long a load and a rebuild take over N storage accounts, with the largest domain in
/// M partitions, compared with what the published limits allow.
/// </summary>
internal sealed class SpreadBenchmark(SpreadParameters parameters)
{
    /// <summary>All combinations of N and M.</summary>
    public static IReadOnlyList<SpreadPoint> Table { get; } =
    [
        .. from rebuild in new[] { false, true }
           from ranges in new[] { false, true }
           from spread in new[] { 1, 2, 4, 8, 16, SpreadPoint.MaxPartitions }
           from accounts in Enumerable.Range(1, SpreadPoint.MaxStorageAccounts)
           select new SpreadPoint(accounts, spread, ranges, rebuild),
    ];

    /// <summary>Prints the table; returns false if a requirement isn't met.</summary>
    /// <param name="points">The points to simulate.</param>
    /// <param name="scale">The factor by which accounts are reduced.</param>
    /// <param name="seed">Seeds everything drawn here; the throttle's jitter is separate.</param>
    public bool Run(IReadOnlyList<SpreadPoint> points, double scale, int seed)
    {
        Console.WriteLine($"{parameters.Accounts:N0} accounts, one of {scale} simulated (five of a rebuild); seed {seed}; a load in "
            + $"{parameters.Processes} processes of {parameters.SlicesInFlight} slices of {parameters.TransactionsInFlight} transactions "
            + $"in flight, a rebuild in one of {parameters.RebuildInFlight} for each storage account");
        var results = new ConcurrentDictionary<SpreadPoint, SpreadResult>();
        Parallel.ForEach(
            Partitioner.Create(points, EnumerablePartitionerOptions.NoBuffering),
            new ParallelOptions { MaxDegreeOfParallelism = Environment.ProcessorCount },
            point =>
            {
                var began = Stopwatch.GetTimestamp();
                var result = results[point] = new SpreadRun(parameters, point, ScaleOf(point, scale), seed).Run();
                Console.Error.WriteLine($"{point}: simulated in {Stopwatch.GetElapsedTime(began).TotalSeconds:F1} s; {result}");
            });
        foreach (var kind in points.GroupBy(point => (point.IsRebuild, point.WithRanges)))
            Print(kind.Key.IsRebuild, kind.Key.WithRanges, [.. kind], results);
        var faults = points.SelectMany(point => point.FaultsOf(results[point])).ToList();
        foreach (var fault in faults)
            Console.WriteLine(fault);
        return faults.Count == 0;
    }

    /// <summary>
    /// A rebuild has a tenth of a load's transactions, and spends more of its time finding the allowed rate: the
    /// points with the strictest requirement are simulated in full.
    /// </summary>
    private static double ScaleOf(SpreadPoint point, double scale) =>
        !point.IsRebuild ? scale : point is { IsDemanded: true, Partitions: > 1 } ? 1 : Math.Max(scale / 5, 1);

    private static void Print(
        bool isRebuild, bool withRanges, List<SpreadPoint> points, IReadOnlyDictionary<SpreadPoint, SpreadResult> results)
    {
        var accounts = points.Select(point => point.StorageAccounts).Distinct().Order().ToList();
        Console.WriteLine($"\n{(isRebuild ? "Rebuild" : "Load")}, ranges {(withRanges ? "on" : "off")}: minutes (of the bound; refused)\n");
        Console.WriteLine($"| M | {string.Join(" | ", accounts.Select(count => $"N={count}"))} |");
        Console.WriteLine($"| ---: |{string.Concat(accounts.Select(_ => " ---: |"))}");
        foreach (var row in points.GroupBy(point => point.Partitions).OrderBy(row => row.Key))
        {
            var cells = row.OrderBy(point => point.StorageAccounts).Select(point => results[point])
                .Select(result => $"{result.Time.TotalMinutes:F1} ({result.Rate:P0}; {result.Refused:P0})");
            Console.WriteLine($"| {row.Key} | {string.Join(" | ", cells)} |");
        }
    }
}
