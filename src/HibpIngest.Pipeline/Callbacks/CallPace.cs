namespace HibpIngest.Pipeline.Callbacks;

/// <summary>Paces the calls to one client in one turn, and ends it if calls keep failing or its time is up. Thread-safe.</summary>
/// <param name="pauseOf">Returns the pause after the given number of earlier ones.</param>
internal sealed class CallPace(CallbackTurn turn, int cap, Func<int, TimeSpan> pauseOf, TimeProvider time)
{
    public static readonly TimeSpan TurnTime = TimeSpan.FromSeconds(30);

    // A longer pause ends the turn, so that it doesn't occupy a worker that other clients need.
    private static readonly TimeSpan MaxWait = TimeSpan.FromSeconds(5);

    // The receiver counts as down after this many failures in a row, or after as many as its cap if that is larger.
    private const int FailuresInRow = 8;

    // A throttled client's pause is this part of the pause after a failure: it does respond.
    private const double ThrottledPart = 0.1;

    private readonly Lock _lock = new();
    private readonly long _startedAt = time.GetTimestamp();
    private readonly long[] _outcomes = new long[Enum.GetValues<CallOutcome>().Length];
    private int _failures = turn.Failures;
    private int _failuresInRow;
    private long _pausedAt;
    private TimeSpan _pause;
    private TimeSpan _callTime;
    private bool _stopped;

    /// <summary>True if the client responded 410 Gone.</summary>
    public bool IsGone { get; private set; }

    public bool IsStopped => Before() is null;

    /// <summary>Returns how long to wait before the next call, or null if the turn has ended.</summary>
    public TimeSpan? Before()
    {
        // Both reads are under one lock: another worker's failure may end the turn between them, and set a pause of up to an hour.
        lock (_lock)
            return _stopped || time.GetElapsedTime(_startedAt) >= TurnTime ? null : Rest();
    }

    public void Stop()
    {
        lock (_lock)
            _stopped = true;
    }

    /// <summary>Ends the turn with the pause that follows a turn in which nothing was accepted.</summary>
    public void Fail()
    {
        lock (_lock)
        {
            _outcomes[(int)CallOutcome.Refused]++;
            PauseFor(pauseOf(_failures++));
            _stopped = true;
        }
    }

    public void After(CallResponse response, long startedAt)
    {
        lock (_lock)
        {
            _outcomes[(int)response.Outcome]++;
            _callTime += time.GetElapsedTime(startedAt);
            switch (response.Outcome)
            {
                case CallOutcome.Accepted:
                    (_failures, _failuresInRow) = (0, 0);
                    break;
                case CallOutcome.Throttled:
                    var retryAfter = response.RetryAfter ?? TimeSpan.Zero;
                    // Throttled calls that were in flight together cause one pause.
                    if (_pause > TimeSpan.Zero && startedAt < _pausedAt)
                    {
                        if (retryAfter > Rest())
                            PauseFor(retryAfter);
                        break;
                    }
                    var backoff = pauseOf(_failures++) * ThrottledPart;
                    PauseFor(retryAfter > backoff ? retryAfter : backoff);
                    break;
                case CallOutcome.Gone:
                    IsGone = _stopped = true;
                    break;
                default:
                    if (++_failuresInRow >= Math.Max(FailuresInRow, cap) && !_stopped)
                    {
                        PauseFor(pauseOf(_failures++));
                        _stopped = true;
                    }
                    break;
            }
        }
    }

    public CallbackTurnEnd End()
    {
        lock (_lock)
        {
            var (made, accepted) = (_outcomes.Sum(), _outcomes[(int)CallOutcome.Accepted]);
            var rest = Rest();
            return new CallbackTurnEnd(
                _failures, accepted > 0, made > accepted, rest > TimeSpan.Zero ? rest : null,
                _callTime > TimeSpan.Zero ? _callTime / made : null);
        }
    }

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
        _stopped |= pause > MaxWait;
    }
}
