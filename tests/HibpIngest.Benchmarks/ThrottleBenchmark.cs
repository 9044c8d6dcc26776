namespace HibpIngest.Benchmarks;

/// <summary>Runs the upsert stage against a model of the table service's limits (<see cref="ThrottledUpsert"/>).</summary>
internal static class ThrottleBenchmark
{
    private const double LeastRate = 0.85;
    private const double MaxWritten = 1.05;

    /// <summary>Prints the table; returns false if a requirement is missed.</summary>
    /// <param name="scale">Multiplies the slices.</param>
    /// <param name="only">Only this number in flight; null: all.</param>
    public static async Task<bool> RunAsync(string folder, int scale, int? only)
    {
        Console.WriteLine("| slices in flight | processes | refusals | slices x rows | s | bound s | of the permitted rate | refused | "
            + "written / entities | deferred |");
        Console.WriteLine("| ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        var within = true;
        // Warm-up: a process's first run is slower.
        await ThrottledUpsert.MeasureAsync(folder, inFlight: 2, slices: 4, sliceRows: 2_000, new TableLimits());
        foreach (var (inFlight, slices, rows) in new[] { (1, 15, 10_000), (24, 48, 10_000), (240, 240, 4_000) }.Where(
            row => only is null || row.Item1 == only))
        {
            foreach (var (name, delay) in new[] { ("immediate", TimeSpan.Zero), ("after 500 ms", TimeSpan.FromMilliseconds(500)) })
            {
                var processes = ThrottledUpsert.Processes(inFlight);
                var result = await ThrottledUpsert.MeasureAsync(
                    folder, inFlight, slices * scale, rows, new TableLimits { RefusalLatency = delay });
                Console.WriteLine(
                    $"| {inFlight} | {processes} | {name} | {slices * scale} x {rows:N0} | {result.Seconds:F1} | "
                    + $"{result.Bound:F1} | {result.Rate:P1} | {result.Refused:P1} | {result.Written:F3} | {result.Deferred} |");
                within &= result.Rate >= LeastRate && result.Refused < (processes > 1 ? 0.2 : 0.1)
                    && result.Written <= MaxWritten && result.Deferred == 0;
            }
        }
        return within;
    }
}
