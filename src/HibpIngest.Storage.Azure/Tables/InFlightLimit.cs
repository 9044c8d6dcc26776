namespace HibpIngest.Storage.Azure.Tables;

/// <summary>
/// Limits the transactions that this process keeps in flight to one storage account. Table Storage answers 503 when it is busy; an emulator
/// on a busy machine only becomes slow, until connects and responses time out and every retry adds to the load. So the limit follows the
/// latency: it doubles each round trip from <see cref="First"/>, is cut when responses take too long or connections fail, and then grows
/// by <see cref="Growth"/> each round trip. Additive growth and proportional cuts (RFC 5681) make processes that know nothing of one
/// another share the capacity. Not thread-safe.
/// </summary>
/// <remarks>
/// The latency limit is <see cref="TimesFloor"/> times the floor (the lowest mean latency seen), at least <see cref="MinTolerated"/> and at
/// most <see cref="MaxTolerated"/>. A server that handles one request at a time is fully used by two transactions in flight; more only
/// queue there, so the limits can be wide. Latency that doesn't depend on the load, as to a distant region, is its own floor and cuts
/// nothing.
/// </remarks>
internal sealed class InFlightLimit(TimeProvider time, int? fixedLimit = null)
{
    public const int First = 8;

    /// <summary>Keeps a server busy that handles one request at a time: one is processed while the other is in transit.</summary>
    public const int Min = 2;

    /// <summary>Each transaction has a connection of its own (HTTP/1.1).</summary>
    public const int Max = 512;

    /// <summary>Above the noise of a round's mean, and low enough to keep the server's queue short.</summary>
    private const double TimesFloor = 2;

    /// <summary>Latency below this is no reason to cut: nothing times out, no user notices, and the noise is large.</summary>
    private static readonly TimeSpan MinTolerated = TimeSpan.FromMilliseconds(250);

    // A process that starts while others are busy measures a floor that includes their load; without this limit it would take more than
    // its share. Connects time out after 10 s.
    private static readonly TimeSpan MaxTolerated = TimeSpan.FromSeconds(1);

    private static readonly TimeSpan ForgottenAfter = TimeSpan.FromSeconds(5);

    /// <summary>The share left after a cut. Two processes converge within about ten cuts; 0.9 with a growth of 1 took minutes.</summary>
    private const double RemainingShare = 0.7;
    private const double MinRemainingShare = 0.5;
    private const int Growth = 2;

    private double _floor = double.MaxValue;

    // The limit doubles each round up to this (ssthresh in RFC 5681), and then grows additively.
    private int _slowStartThreshold = Max;
    private bool _wasLastCutByLoss;
    private long _usedAt = time.GetTimestamp();

    // The fields below cover the current round: transactions sent since it began.
    private long _since = time.GetTimestamp();
    private int _peak;
    private int _responses;
    private double _seconds;
    private double _slowest;

    public int Current { get; private set; } = fixedLimit ?? First;

    /// <param name="inFlight">The number in flight, including this one.</param>
    public void Sent(int inFlight)
    {
        if (fixedLimit is not null)
            return;
        var now = time.GetTimestamp();
        if (inFlight == 1 && time.GetElapsedTime(_usedAt, now) > ForgottenAfter)
        {
            // The server or the machine's load may have changed.
            (Current, _slowStartThreshold) = (Math.Min(Current, First), Max);
            Begin(now);
        }
        _usedAt = now;
        _peak = Math.Max(_peak, inFlight);
    }

    /// <param name="sentAt">Timestamp. Transactions sent before the last change of the limit don't count.</param>
    public void Completed(long sentAt)
    {
        var now = time.GetTimestamp();
        _usedAt = now;
        if (sentAt < _since || fixedLimit is not null)
            return;
        var seconds = time.GetElapsedTime(sentAt, now).TotalSeconds;
        _seconds += seconds;
        _slowest = Math.Max(_slowest, seconds);
        // A round ends after as many responses as were in flight at once: about a round trip.
        if (++_responses < Math.Clamp(_peak, Min, Current))
            return;
        _wasLastCutByLoss = false;
        // The mean leaves out the slowest response: one in a hundred takes ten times as long and would dominate a small round.
        var latency = (_seconds - _slowest) / (_responses - 1);
        _floor = Math.Min(_floor, latency);
        var tooLong = Math.Clamp(TimesFloor * _floor, MinTolerated.TotalSeconds, MaxTolerated.TotalSeconds);
        if (latency > tooLong)
        {
            // At the minimum limit, this process isn't the cause of the latency: it becomes the new floor.
            if (Current == Min)
                _floor = latency;
            CutTo(Math.Min(Current, _peak) * Math.Clamp(tooLong / latency, MinRemainingShare, RemainingShare));
            _slowStartThreshold = Current;
        }
        else if (_peak >= Current)
            Current = Math.Min(Current < _slowStartThreshold ? Math.Min(Current * 2, _slowStartThreshold) : Current + Growth, Max);
        Begin(now);
    }

    /// <param name="sentAt">Timestamp. Transactions sent before the last cut fail for the same reason and don't count.</param>
    public void Lost(long sentAt)
    {
        if (sentAt < _since || fixedLimit is not null)
            return;
        var half = CutTo(Math.Min(Current, Math.Max(_peak, Min)) * MinRemainingShare);
        // During an outage every attempt fails. Only the first failure lowers the threshold, to half the limit before the outage, so that
        // the limit doubles up to it afterwards.
        if (!_wasLastCutByLoss)
            _slowStartThreshold = half;
        _wasLastCutByLoss = true;
        Begin(_usedAt = time.GetTimestamp());
    }

    private int CutTo(double limit) => Current = Math.Max((int)limit, Min);

    private void Begin(long now) => (_since, _peak, _responses, _seconds, _slowest) = (now, 0, 0, 0, 0);
}
