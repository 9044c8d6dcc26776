namespace HibpIngest.Storage.Azure.Tables;

/// <summary>
/// Limits the entities per second sent to a partition or an account that has refused some. The rate grows while nothing is refused and is
/// cut after a refusal, so that any number of processes that know nothing of one another share the capacity. A rate and not a number in
/// flight: a partition takes 2,000 entities a second, which at 10 ms for a transaction of 100 is a fifth of one in flight.
/// </summary>
/// <remarks>
/// Grows as CUBIC does (RFC 9438): back to the rate that was refused within seconds, near it for a while, then ever faster. Linear growth
/// would mean either a refusal every second if ten processes share a partition, or minutes until one has taken up what another left.
/// </remarks>
internal sealed class WriteRate
{
    /// <summary>Minimum: entities must be sent to find out whether the service takes more.</summary>
    private const double Min = 50;

    /// <summary>The share left after a cut: at most 0.75; if less was done, down to 0.5.</summary>
    private const double Cut = 0.75;
    private const double DeepestCut = 0.5;

    // In entities/s per second cubed: a return to the refused rate takes 5 s from 2,000, and 2.3 s from 200. An eighth of it had a third
    // of the refusals, and took twice as long to take up what another process left. It is proportional to rates above 2,000, as an
    // account's are, so that their return takes 5 s too.
    private const double MinGrowth = 4;
    private const double GrowthPerRate = MinGrowth / 2_000;

    private bool _known;
    private double _refusedAt;
    private double _growth;
    private double _secondsToReturn;
    private double _secondsLimited;

    /// <param name="entitiesPerSecond">
    /// The rate at the first refusal. It says little (after a pause many may be sent at once, and a new process is slow), so it doubles
    /// each second until the next refusal.
    /// </param>
    public WriteRate(double entitiesPerSecond)
    {
        EntitiesPerSecond = Math.Max(entitiesPerSecond, Min);
        Refused(EntitiesPerSecond);
        _known = false;
    }

    public double EntitiesPerSecond { get; private set; }

    /// <param name="done">Recent entities/s done: if refusals take long, far more may be in flight than is accepted.</param>
    public void Refused(double done)
    {
        _refusedAt = EntitiesPerSecond;
        EntitiesPerSecond = Math.Max(Math.Clamp(done, _refusedAt * DeepestCut, _refusedAt * Cut), Min);
        _growth = Math.Max(_refusedAt * GrowthPerRate, MinGrowth);
        _secondsToReturn = Math.Cbrt((_refusedAt - EntitiesPerSecond) / _growth);
        _secondsLimited = 0;
        _known = true;
    }

    /// <summary>
    /// Grows the rate by the time for which transactions waited because of it and none was refused. It doesn't grow while nothing waits,
    /// since a higher rate would then be untested.
    /// </summary>
    public void Limited(TimeSpan time)
    {
        if (!_known)
        {
            EntitiesPerSecond *= Math.Pow(2, time.TotalSeconds);
            return;
        }
        _secondsLimited += time.TotalSeconds;
        var beyond = _secondsLimited - _secondsToReturn;
        EntitiesPerSecond = Math.Max(EntitiesPerSecond, _refusedAt + (_growth * beyond * beyond * beyond));
    }
}

/// <summary>Entities per second over the recent past: the weight decays exponentially, with a time constant of 1 s.</summary>
internal sealed class RecentRate(TimeProvider time)
{
    private double _rate;
    private long _at = time.GetTimestamp();

    public double EntitiesPerSecond
    {
        get
        {
            var now = time.GetTimestamp();
            _rate *= Math.Exp(-time.GetElapsedTime(_at, now).TotalSeconds);
            _at = now;
            return _rate;
        }
    }

    public void Add(int entities) => _rate = EntitiesPerSecond + entities;
}
