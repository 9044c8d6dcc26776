namespace HibpIngest.Cli.Output;

/// <summary>Estimates the time left of work in parts (a load's slices) from those completed in a sliding window of working time.</summary>
internal sealed class TimeLeft
{
    /// <summary>Accounts counted as one part, for work that is not in slices.</summary>
    public const double AccountsPerPart = 10_000;

    // With fewer parts or in less time, the rate is unreliable.
    private const double MinParts = 20;
    private static readonly TimeSpan MinTime = TimeSpan.FromSeconds(30);

    // The window covers both: 64 randomly timed parts have an error of an eighth, and two minutes cover the fluctuations of a busy machine.
    private const double WindowParts = 64;
    private static readonly TimeSpan WindowTime = TimeSpan.FromMinutes(2);

    // Limits the samples kept of work that reports often.
    private static readonly TimeSpan ApartAtLeast = TimeSpan.FromMilliseconds(250);

    private readonly Lock _gate = new();
    private readonly List<(TimeSpan At, double Done)> _seen = [];

    public static bool IsEnough(double parts, TimeSpan worked) => parts >= MinParts || worked >= MinTime;

    public static bool IsWindow(double parts, TimeSpan worked) => parts >= WindowParts && worked >= WindowTime;

    /// <returns>Null if it is over 1,000 days or unbounded, which is not a useful figure.</returns>
    public static TimeSpan? At(double rest, double partsOfWindow, TimeSpan timeOfWindow) =>
        partsOfWindow > 0 && timeOfWindow.TotalDays * (Math.Max(rest, 0) / partsOfWindow) is < 1000 and var days
            ? TimeSpan.FromDays(days) : null;

    /// <param name="at">Working time of the run so far.</param>
    public TimeSpan? Next(TimeSpan at, double done, double rest)
    {
        lock (_gate)
        {
            if (_seen.Count == 0 || at - _seen[^1].At >= ApartAtLeast)
                _seen.Add((at, done));
            // The window begins at the latest report that makes it long enough.
            var begins = _seen.FindLastIndex(one => IsWindow(done - one.Done, at - one.At));
            if (begins > 0)
                _seen.RemoveRange(0, begins);
            return IsEnough(done, at) ? At(rest, done - _seen[0].Done, at - _seen[0].At) : null;
        }
    }
}
