namespace HibpIngest.Cli.Output;

/// <summary>
/// Estimates the time left of work that consists of parts, from those that were completed within a sliding window of working time. All
/// times left that are shown come from here; the parts of a load are its slices.
/// </summary>
internal sealed class TimeLeft
{
    /// <summary>Accounts of a part, where work is not in slices.</summary>
    public const double AccountsOfPart = 10_000;

    // Before this the rate says little.
    private const double FewestParts = 20;
    private static readonly TimeSpan ShortestTime = TimeSpan.FromSeconds(30);

    // The longer of the two: 64 parts that come at random are off by an eighth, and two minutes see what a busy machine does.
    private const double WindowParts = 64;
    private static readonly TimeSpan WindowTime = TimeSpan.FromMinutes(2);

    // So that few of the reports of work that reports often are kept.
    private static readonly TimeSpan ApartAtLeast = TimeSpan.FromMilliseconds(250);

    private readonly Lock _gate = new();
    private readonly List<(TimeSpan At, double Done)> _seen = [];

    /// <summary>Whether so much work in so much time allows an estimate.</summary>
    public static bool IsEnough(double parts, TimeSpan worked) => parts >= FewestParts || worked >= ShortestTime;

    /// <summary>Whether a window with so much work in so much time is long enough.</summary>
    public static bool IsWindow(double parts, TimeSpan worked) => parts >= WindowParts && worked >= WindowTime;

    /// <summary>Returns the time that the rest takes at the rate of a window.</summary>
    /// <returns>null: so long that the figure says nothing.</returns>
    public static TimeSpan? At(double rest, double partsOfWindow, TimeSpan timeOfWindow) =>
        partsOfWindow > 0 && timeOfWindow.TotalDays * (Math.Max(rest, 0) / partsOfWindow) is < 1000 and var days
            ? TimeSpan.FromDays(days) : null;

    /// <summary>Records how far a run is, and returns the time left.</summary>
    /// <param name="at">Working time of the run so far.</param>
    /// <param name="done">Parts that it has done.</param>
    /// <returns>null: not known yet.</returns>
    public TimeSpan? Next(TimeSpan at, double done, double rest)
    {
        lock (_gate)
        {
            if (_seen.Count == 0 || at - _seen[^1].At >= ApartAtLeast)
                _seen.Add((at, done));
            // The window begins at the last report that is far enough back.
            var begins = _seen.FindLastIndex(one => IsWindow(done - one.Done, at - one.At));
            if (begins > 0)
                _seen.RemoveRange(0, begins);
            return IsEnough(done, at) ? At(rest, done - _seen[0].Done, at - _seen[0].At) : null;
        }
    }
}
