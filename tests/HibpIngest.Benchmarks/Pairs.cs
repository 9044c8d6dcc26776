namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures a stage and its ceiling alternately, so that a machine that slows down slows both, and reports the median
/// of the ratios.
/// </summary>
internal sealed class Pairs(int count)
{
    private readonly List<(string Stage, string Unit, double Ceiling, double Ours, double Ratio, double Lowest, double Highest)> _rows = [];

    /// <param name="stage">The name of the measurement.</param>
    /// <param name="unit">What is counted per second.</param>
    /// <param name="ceiling">Runs the ceiling once; returns its units and time.</param>
    /// <param name="ours">Runs our stage once.</param>
    public async Task MeasureAsync(
        string stage, string unit, Func<Task<(double Units, TimeSpan Time)>> ceiling, Func<Task<(double Units, TimeSpan Time)>> ours)
    {
        await ceiling();
        await ours();
        var rates = new List<(double Ceiling, double Ours)>();
        for (var i = 0; i < count; i++)
        {
            var bare = await ceiling();
            var own = await ours();
            rates.Add((bare.Units / bare.Time.TotalSeconds, own.Units / own.Time.TotalSeconds));
            Console.Error.WriteLine($"{stage} {i + 1}/{count}: ceiling {rates[^1].Ceiling:N0}, ours {rates[^1].Ours:N0} {unit}/s");
        }
        var ratios = rates.Select(pair => pair.Ours / pair.Ceiling).Order().ToList();
        _rows.Add(
            (stage, unit, Median(rates.Select(pair => pair.Ceiling)), Median(rates.Select(pair => pair.Ours)), Median(ratios), ratios[0],
                ratios[^1]));
    }

    /// <summary>
    /// Prints the results; returns whether every stage reaches this share of its ceiling, or only the named one if
    /// the others are peers.
    /// </summary>
    public bool Print(double share, string? stage = null)
    {
        Console.WriteLine($"| stage | unit | ceiling/s | ours/s | ratio, median of {count} pairs | lowest-highest |");
        Console.WriteLine("| --- | --- | ---: | ---: | ---: | ---: |");
        foreach (var row in _rows)
            Console.WriteLine(
                $"| {row.Stage} | {row.Unit} | {row.Ceiling:N0} | {row.Ours:N0} | {row.Ratio:F2} | {row.Lowest:F2}-{row.Highest:F2} |");
        return _rows.Where(row => stage is null || row.Stage == stage).Select(row => row.Ratio).DefaultIfEmpty(0).Min() >= share;
    }

    private static double Median(IEnumerable<double> values)
    {
        var sorted = values.Order().ToList();
        return sorted.Count % 2 == 1 ? sorted[sorted.Count / 2] : (sorted[(sorted.Count / 2) - 1] + sorted[sorted.Count / 2]) / 2;
    }
}
