namespace HibpIngest.Benchmarks;

/// <summary>
/// Measures a stage and its ceiling alternately, so that a machine that slows down slows both, and reports the median
/// of the ratios.
/// </summary>
internal sealed class Pairs(int count)
{
    private readonly List<(string Stage, string Unit, List<(double Ceiling, double Ours)> Rates)> _rows = [];

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
        _rows.Add((stage, unit, rates));
    }

    /// <summary>
    /// Prints the results; returns whether every stage reaches this share of its ceiling, or only the named one if
    /// given: the other rows are then for comparison.
    /// </summary>
    public bool Print(double share, string? stage = null)
    {
        Console.WriteLine($"| stage | unit | ceiling/s | ours/s | ratio, median of {count} pairs | lowest-highest |");
        Console.WriteLine("| --- | --- | ---: | ---: | ---: | ---: |");
        var holds = true;
        foreach (var (name, unit, rates) in _rows)
        {
            var ratios = rates.Select(pair => pair.Ours / pair.Ceiling).ToList();
            Console.WriteLine(
                $"| {name} | {unit} | {rates.Select(pair => pair.Ceiling).Median():N0} | {rates.Select(pair => pair.Ours).Median():N0} | "
                + $"{ratios.Median():F2} | {ratios.Min():F2}-{ratios.Max():F2} |");
            holds &= (stage is not null && stage != name) || ratios.Median() >= share;
        }
        return holds;
    }
}
