namespace HibpIngest.Cli.TableBench;

/// <summary>Entities and times are of the requests that succeeded.</summary>
/// <param name="Failed">Requests that failed for another reason, such as a lost connection.</param>
/// <param name="Cpu">The part of this machine's CPU time that this process used, 0 to 1.</param>
internal sealed record BenchResult(
    BenchCell Cell, int Requests, long Entities, int Throttled, int Failed, TimeSpan Elapsed, double Cpu, BenchTimes Times)
{
    public double EntitiesPerSecond => Elapsed > TimeSpan.Zero ? Entities / Elapsed.TotalSeconds : 0;
}

/// <summary>Percentiles in milliseconds.</summary>
internal sealed record BenchTimes(double P50, double P95, double P99)
{
    /// <param name="milliseconds">Is sorted.</param>
    public static BenchTimes Of(List<double> milliseconds)
    {
        milliseconds.Sort();
        return new BenchTimes(At(0.50), At(0.95), At(0.99));

        // The nearest rank: the smallest time that this part of the requests doesn't exceed.
        double At(double part) =>
            milliseconds.Count == 0 ? 0 : milliseconds[Math.Max((int)Math.Ceiling(part * milliseconds.Count) - 1, 0)];
    }
}
