namespace HibpIngest.Benchmarks;

internal static class Stats
{
    public static double Median(this IEnumerable<double> values)
    {
        var sorted = values.Order().ToList();
        return (sorted[(sorted.Count - 1) / 2] + sorted[sorted.Count / 2]) / 2;
    }

    /// <summary>Returns NaN if there are no values.</summary>
    public static double Percentile(this IEnumerable<double> values, int percent)
    {
        var sorted = values.Order().ToList();
        return sorted.Count == 0 ? double.NaN : sorted[sorted.Count * percent / 100];
    }
}
