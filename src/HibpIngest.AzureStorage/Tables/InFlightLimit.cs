namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// How many transactions this process keeps in flight to one storage account. Table Storage says 503 when it is busy; an
/// emulator on a busy machine only gets slow, until connects and answers time out and every retry adds to the load. So the limit
/// follows the latency: it doubles each round trip from <see cref="First"/> on, is cut when answers take too long or connections
/// fail, and then grows by <see cref="Growth"/> each round trip. Additive growth and proportional cuts (RFC 5681) make processes
/// that know nothing of one another share what there is. Not thread-safe.
/// </summary>
/// <remarks>
/// Too long is <see cref="TimesFloor"/> times the floor, the lowest mean latency seen, but never less than <see cref="Unnoticed"/>
/// nor more than <see cref="Longest"/>. A server that does one thing at a time is busy all the time from two transactions in
/// flight on: what is more only waits there, so that the limits can be wide. Latency that doesn't depend on the number in flight,
/// as that of a region far away, is its own floor and cuts nothing.
/// </remarks>
/// <param name="unchanging">The limit, whatever happens: what benchmarks compare with. Null: it follows the latency.</param>
internal sealed class InFlightLimit(TimeProvider time, int? unchanging = null)
{
    /// <summary>What is in flight at first, and again after a pause of <see cref="ForgottenAfter"/>.</summary>
    public const int First = 8;

    /// <summary>Keeps a server busy that does one thing at a time: one is worked on while the other is on its way.</summary>
    public const int Least = 2;

    /// <summary>Each has a connection of its own (HTTP/1.1).</summary>
    public const int Highest = 512;

    /// <summary>Above the noise of a round's mean, and few enough requests in a server's queue.</summary>
    private const double TimesFloor = 2;

    /// <summary>Within this time nothing times out, and nobody notices: the noise below it is no reason to cut.</summary>
    private static readonly TimeSpan Unnoticed = TimeSpan.FromMilliseconds(250);

    /// <summary>
    /// A process that joins others sees only what they have left of the floor, and would outdo them, as they would it. Connects
    /// time out after 10 s.
    /// </summary>
    private static readonly TimeSpan Longest = TimeSpan.FromSeconds(1);

    private static readonly TimeSpan ForgottenAfter = TimeSpan.FromSeconds(5);

    /// <summary>What is left after a cut. Two processes converge within some ten cuts; 0.9 and a growth of 1 took minutes.</summary>
    private const double Cut = 0.7;
    private const double DeepestCut = 0.5;
    private const int Growth = 2;

    private double _floor = double.MaxValue;
    private int _doublesUpTo = Highest;
    private bool _isLost;
    private long _usedAt = time.GetTimestamp();

    // Of this round: what was sent since it began.
    private long _since = time.GetTimestamp();
    private int _peak;
    private int _answers;
    private double _seconds;
    private double _slowest;

    /// <summary>At most so many may be in flight.</summary>
    public int Most { get; private set; } = unchanging ?? First;

    /// <summary>A transaction is sent; with it, so many are in flight.</summary>
    public void Sent(int inFlight)
    {
        if (unchanging is not null)
            return;
        var now = time.GetTimestamp();
        if (inFlight == 1 && time.GetElapsedTime(_usedAt, now) > ForgottenAfter)
        {
            // The server, or the machine, may be another by now.
            (Most, _doublesUpTo) = (Math.Min(Most, First), Highest);
            Begin(now);
        }
        _usedAt = now;
        _peak = Math.Max(_peak, inFlight);
    }

    /// <param name="sentAt">Timestamp. What was sent before the last change of the limit says nothing of it.</param>
    public void Answered(long sentAt)
    {
        var now = time.GetTimestamp();
        _usedAt = now;
        if (sentAt < _since || unchanging is not null)
            return;
        var seconds = time.GetElapsedTime(sentAt, now).TotalSeconds;
        _seconds += seconds;
        _slowest = Math.Max(_slowest, seconds);
        // As many as are in flight at once: a round trip.
        if (++_answers < Math.Clamp(_peak, Least, Most))
            return;
        _isLost = false;
        // One in a hundred takes ten times as long: in a round of few it would be all that there is to be seen.
        var latency = (_seconds - _slowest) / (_answers - 1);
        _floor = Math.Min(_floor, latency);
        var tooLong = Math.Clamp(TimesFloor * _floor, Unnoticed.TotalSeconds, Longest.TotalSeconds);
        if (latency > tooLong)
        {
            // So long it takes with next to nothing in flight: it isn't this process that makes it slow.
            if (Most == Least)
                _floor = latency;
            CutTo(Math.Min(Most, _peak) * Math.Clamp(tooLong / latency, DeepestCut, Cut));
            _doublesUpTo = Most;
        }
        else if (_peak >= Most)
            Most = Math.Min(Most < _doublesUpTo ? Math.Min(Most * 2, _doublesUpTo) : Most + Growth, Highest);
        Begin(now);
    }

    /// <summary>One had no answer: its connection was refused, timed out or broke.</summary>
    /// <param name="sentAt">Timestamp. Those that were sent before the last cut fail for the same reason.</param>
    public void Lost(long sentAt)
    {
        if (sentAt < _since || unchanging is not null)
            return;
        var half = CutTo(Math.Min(Most, Math.Max(_peak, Least)) * DeepestCut);
        // Where it is down, each try ends like this: when it is up again, half of what it took is found quickly.
        if (!_isLost)
            _doublesUpTo = half;
        _isLost = true;
        Begin(_usedAt = time.GetTimestamp());
    }

    private int CutTo(double most) => Most = Math.Max((int)most, Least);

    private void Begin(long now) => (_since, _peak, _answers, _seconds, _slowest) = (now, 0, 0, 0, 0);
}
