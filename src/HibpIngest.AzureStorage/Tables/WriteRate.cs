namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// How many entities a second may go into something that has said it is busy. It grows while nothing is refused
/// and is cut when something is, so that any number of processes which know nothing of one another share what
/// there is. A rate and not a number in flight: a partition takes 2,000 entities a second, which at 10 ms for a
/// transaction of 100 is a fifth of one in flight.
/// </summary>
/// <remarks>
/// The growth is CUBIC's (RFC 9438): within seconds back to where it was refused, for a while close to that,
/// then ever faster beyond. A straight line would have to choose between refusals by the second where ten
/// processes share a partition and minutes until one has taken what another left.
/// </remarks>
internal sealed class WriteRate
{
    /// <summary>Never less: something has to go there to find out that it may.</summary>
    private const double Least = 50;

    /// <summary>What is left after a cut: at most, and at least where less than that was done.</summary>
    private const double Cut = 0.75;
    private const double DeepestCut = 0.5;

    /// <summary>
    /// The growth, in entities/s to the third power of seconds: from 2,000 it is 5 seconds back to where it was
    /// refused, from 200 it is 2.3. An eighth of it had a third of the refusals, and took twice as long to take
    /// up what another process has left.
    /// </summary>
    private const double Growth = 4;

    private bool _known;
    private double _refusedAt;
    private double _secondsToReturn;
    private double _secondsLimited;

    /// <param name="entitiesPerSecond"> What went there when it was refused for the first time. It says little
    /// (much may come at once after a pause, and a process that has just begun is slow), so that from there it
    /// doubles each second until the next refusal. </param>
    public WriteRate(double entitiesPerSecond)
    {
        EntitiesPerSecond = Math.Max(entitiesPerSecond, Least);
        Refused(EntitiesPerSecond);
        _known = false;
    }

    public double EntitiesPerSecond { get; private set; }

    /// <summary>Something was refused that was sent at this rate.</summary>
    /// <param name="done">Entities a second that were done of late: where refusals take their time, far more
    /// may be under way than is taken.</param>
    public void Refused(double done)
    {
        _refusedAt = EntitiesPerSecond;
        EntitiesPerSecond = Math.Max(Math.Clamp(done, _refusedAt * DeepestCut, _refusedAt * Cut), Least);
        _secondsToReturn = Math.Cbrt((_refusedAt - EntitiesPerSecond) / Growth);
        _secondsLimited = 0;
        _known = true;
    }

    /// <summary>
    /// For so long something has waited because of it, and nothing was refused. While nothing waits it doesn't
    /// grow: it would not be known what it is good for.
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
        EntitiesPerSecond = Math.Max(EntitiesPerSecond, _refusedAt + (Growth * beyond * beyond * beyond));
    }
}
