using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;

namespace HibpIngest.Benchmarks;

/// <summary>
/// Simulates, in virtual time, how long a load and a rebuild take over N storage accounts, with the largest domain in
/// M partitions, compared with what the published limits allow.
/// </summary>
internal sealed class SpreadBenchmark(SpreadParameters parameters, Action<string> say)
{
    /// <summary>The published limit: requirements don't change with the parameters.</summary>
    private const double PartitionRate = 2_000;
    private const double LeastRate = 0.85;
    private const double MaxRefused = 0.2;
    private const double MaxRate = 1.02;
    private const int MaxAccounts = 10;
    private static readonly TimeSpan MaxTime = TimeSpan.FromMinutes(20);
    private static readonly TimeSpan MaxTimeWithRanges = TimeSpan.FromMinutes(25);
    private static readonly int[] Spreads = [1, 2, 4, 8, 16, 32];

    /// <summary>All combinations of N and M.</summary>
    public static IReadOnlyList<SpreadPoint> Table { get; } =
    [
        .. from rebuild in new[] { false, true }
           from ranges in new[] { false, true }
           from spread in Spreads
           from accounts in Enumerable.Range(1, MaxAccounts)
           select new SpreadPoint(accounts, spread, ranges, rebuild),
    ];

    /// <summary>The points with a requirement: N=10 with M=32, and M=1.</summary>
    public static IReadOnlyList<SpreadPoint> Demanded { get; } =
        [.. Table.Where(point => point.StorageAccounts == MaxAccounts && (point.Partitions == Spreads[^1] || point.Partitions == 1))];

    private static SpreadPoint Demanding { get; } = new(MaxAccounts, Spreads[^1], WithRanges: false, IsRebuild: true);

    /// <summary>Prints the table; returns false if a requirement isn't met.</summary>
    /// <param name="points">The points to simulate.</param>
    /// <param name="scale">The factor by which accounts are reduced.</param>
    /// <param name="seed">Seeds everything drawn here; the throttle's jitter is separate.</param>
    public bool Run(IReadOnlyList<SpreadPoint> points, double scale, int seed)
    {
        say(string.Create(
            CultureInfo.InvariantCulture,
            $"{parameters.Accounts:N0} accounts, one of {scale} simulated (five of a rebuild); seed {seed}; a load in "
            + $"{parameters.Processes} processes of {parameters.SlicesInFlight} slices of {parameters.TransactionsInFlight} transactions "
            + $"in flight, a rebuild in one of {parameters.RebuildInFlight} for each storage account"));
        var results = new ConcurrentDictionary<SpreadPoint, SpreadResult>();
        Parallel.ForEach(
            Partitioner.Create(points, EnumerablePartitionerOptions.NoBuffering),
            new ParallelOptions { MaxDegreeOfParallelism = Environment.ProcessorCount },
            point =>
            {
                var began = Stopwatch.GetTimestamp();
                var result = results[point] = new SpreadRun(parameters, point, ScaleOf(point, scale), seed).Run();
                // Shows progress.
                Console.Error.WriteLine(Text(
                    $"{point}: simulated in {Stopwatch.GetElapsedTime(began).TotalSeconds:F1} s; {result}"));
            });
        foreach (var kind in points.GroupBy(point => (point.IsRebuild, point.WithRanges)))
            Print(kind.Key.IsRebuild, kind.Key.WithRanges, [.. kind], results);
        var faults = points.SelectMany(point => FaultsOf(point, results[point])).ToList();
        foreach (var fault in faults)
            say(fault);
        return faults.Count == 0;
    }

    /// <summary>
    /// A rebuild has a tenth of a load's transactions, and spends more of its time finding the allowed rate: the
    /// point with the strictest requirement is simulated in full.
    /// </summary>
    private static double ScaleOf(SpreadPoint point, double scale) =>
        !point.IsRebuild ? scale : point == Demanding with { WithRanges = point.WithRanges } ? 1 : Math.Max(scale / 5, 1);

    /// <summary>Returns the requirements that a point doesn't meet.</summary>
    public static IEnumerable<string> FaultsOf(SpreadPoint point, SpreadResult result)
    {
        if (point.StorageAccounts == MaxAccounts && point.Partitions == Spreads[^1])
        {
            var most = point.WithRanges ? MaxTimeWithRanges : MaxTime;
            if (result.Rate < LeastRate)
                yield return Text($"{point}: expected {LeastRate:P0} of the bound, found {result.Rate:P1}");
            if (result.Time > most)
                yield return Text($"{point}: expected {most.TotalMinutes:F0} minutes at most, found {result.Time.TotalMinutes:F1}");
            if (result.Refused > MaxRefused)
                yield return Text($"{point}: expected {MaxRefused:P0} of the requests refused at most, found {result.Refused:P1}");
        }
        if (point.Partitions == 1 && result.HotRate / PartitionRate is < LeastRate or > MaxRate)
            yield return Text($"{point}: expected {PartitionRate:N0} entities/s into the largest domain, found {result.HotRate:N0}");
    }

    private void Print(bool isRebuild, bool withRanges, List<SpreadPoint> points, IReadOnlyDictionary<SpreadPoint, SpreadResult> results)
    {
        var accounts = points.Select(point => point.StorageAccounts).Distinct().Order().ToList();
        say($"\n{(isRebuild ? "Rebuild" : "Load")}, ranges {(withRanges ? "on" : "off")}: minutes (of the bound; refused)\n");
        say($"| M | {string.Join(" | ", accounts.Select(count => $"N={count}"))} |");
        say($"| ---: |{string.Concat(accounts.Select(_ => " ---: |"))}");
        foreach (var row in points.GroupBy(point => point.Partitions).OrderBy(row => row.Key))
            say($"| {row.Key} | {string.Join(" | ", row.OrderBy(point => point.StorageAccounts).Select(point => Cell(results[point])))} |");
    }

    private static string Cell(SpreadResult result) =>
        Text($"{result.Time.TotalMinutes:F1} ({result.Rate:P0}; {result.Refused:P0})");

    private static string Text(FormattableString text) => FormattableString.Invariant(text);
}
