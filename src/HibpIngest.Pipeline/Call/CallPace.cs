using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// How fast a client is called in one turn: pauses where it asks for one, and ends the turn where nothing is accepted, or its time is up.
/// Safe for use by many at once.
/// </summary>
/// <param name="pauseOf">The pause after so many before it.</param>
internal sealed class CallPace(CallbackTurn turn, int cap, Func<int, TimeSpan> pauseOf, TimeProvider time)
{
    /// <summary>Then the next client has its turn.</summary>
    public static readonly TimeSpan TurnTime = TimeSpan.FromSeconds(30);

    // What is longer is waited for without holding a place that others want.
    private static readonly TimeSpan LongestWait = TimeSpan.FromSeconds(5);

    // A receiver that is down is found out with so many calls, or with as many as are in flight.
    private const int FailuresInRow = 8;

    // The first pause of one that asks to slow down is a part of the one of a failure: it answers.
    private const double ThrottledPart = 0.1;

    private readonly Lock _lock = new();
    private readonly long _began = time.GetTimestamp();
    private readonly long[] _outcomes = new long[Enum.GetValues<CallOutcome>().Length];
    private int _failures = turn.Failures;
    private int _inRow;
    private long _pausedAt;
    private TimeSpan _pause;
    private TimeSpan _taken;
    private bool _stopped;

    /// <summary>The client wants no more calls, for good.</summary>
    public bool IsGone { get; private set; }

    /// <summary>No more calls are to be begun in this turn.</summary>
    public bool IsStopped
    {
        get
        {
            lock (_lock)
                return _stopped || time.GetElapsedTime(_began) >= TurnTime;
        }
    }

    /// <summary>How long to wait before a call; null: the turn has ended.</summary>
    public TimeSpan? Before()
    {
        if (IsStopped)
            return null;
        lock (_lock)
            return Rest();
    }

    public void Stop()
    {
        lock (_lock)
            _stopped = true;
    }

    /// <summary>Ends the turn with a pause, as where nothing was accepted.</summary>
    public void Fail()
    {
        lock (_lock)
        {
            _outcomes[(int)CallOutcome.Refused]++;
            PauseFor(pauseOf(_failures++));
            _stopped = true;
        }
    }

    /// <summary>A call has ended.</summary>
    /// <param name="began">When it was begun (a timestamp).</param>
    public void After(CallAnswer answer, long began)
    {
        lock (_lock)
        {
            _outcomes[(int)answer.Outcome]++;
            _taken += time.GetElapsedTime(began);
            switch (answer.Outcome)
            {
                case CallOutcome.Accepted:
                    (_failures, _inRow) = (0, 0);
                    break;
                case CallOutcome.Throttled:
                    var asked = answer.RetryAfter ?? TimeSpan.Zero;
                    // Those that were in flight together ask for one pause.
                    if (_pause > TimeSpan.Zero && began < _pausedAt)
                    {
                        if (asked > Rest())
                            PauseFor(asked);
                        break;
                    }
                    var own = pauseOf(_failures++) * ThrottledPart;
                    PauseFor(asked > own ? asked : own);
                    break;
                case CallOutcome.Gone:
                    IsGone = _stopped = true;
                    break;
                default:
                    if (++_inRow >= Math.Max(FailuresInRow, cap) && !_stopped)
                    {
                        PauseFor(pauseOf(_failures++));
                        _stopped = true;
                    }
                    break;
            }
        }
    }

    /// <summary>How the turn has ended.</summary>
    public CallbackTurnEnd End()
    {
        lock (_lock)
        {
            var (made, accepted) = (_outcomes.Sum(), _outcomes[(int)CallOutcome.Accepted]);
            var rest = Rest();
            return new CallbackTurnEnd(
                _failures, accepted > 0, made > accepted, rest > TimeSpan.Zero ? rest : null,
                _taken > TimeSpan.Zero ? _taken / made : null);
        }
    }

    /// <summary>Calls by outcome.</summary>
    public long Count(CallOutcome outcome)
    {
        lock (_lock)
            return _outcomes[(int)outcome];
    }

    private TimeSpan Rest()
    {
        var rest = _pause - time.GetElapsedTime(_pausedAt);
        return _pause > TimeSpan.Zero && rest > TimeSpan.Zero ? rest : TimeSpan.Zero;
    }

    private void PauseFor(TimeSpan pause)
    {
        (_pausedAt, _pause) = (time.GetTimestamp(), pause);
        _stopped |= pause > LongestWait;
    }
}
