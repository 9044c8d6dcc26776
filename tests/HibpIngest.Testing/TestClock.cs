namespace HibpIngest.Testing;

/// <summary>
/// A clock that tests move, so that leases expire and messages age without waiting. By default it is the system's
/// clock plus an offset, with the system's timers. A standing clock shows the same time until it is moved, and one
/// with manual timers runs them when it is moved past them.
/// </summary>
public sealed class TestClock : TimeProvider
{
    /// <summary>In system time; work that hasn't ended by then never does.</summary>
    private static readonly TimeSpan LongestAdvance = TimeSpan.FromMinutes(1);

    /// <summary>The first timestamp isn't 0, because some code takes 0 to mean never.</summary>
    private static readonly TimeSpan Beginning = TimeSpan.FromDays(1);

    private readonly Lock _lock = new();
    private readonly DateTimeOffset? _standsAt;
    private readonly bool _timersByHand;
    private readonly List<HandTimer> _timers = [];
    private TaskCompletionSource _armed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private TimeSpan _moved;

    public TestClock()
    {
    }

    private TestClock(DateTimeOffset? standsAt, bool timersByHand) => (_standsAt, _timersByHand) = (standsAt, timersByHand);

    /// <summary>Called after each read of the time.</summary>
    public Action? OnRead { get; set; }

    public override long TimestampFrequency => _timersByHand ? TimeSpan.TicksPerSecond : base.TimestampFrequency;

    /// <summary>Returns a clock that stands still at the end of a leap day, with milliseconds.</summary>
    public static TestClock Standing() => new(new DateTimeOffset(2024, 2, 29, 23, 59, 58, 123, TimeSpan.Zero), timersByHand: false);

    /// <summary>Returns a clock whose timers and timestamps advance only when it is moved.</summary>
    public static TestClock WithTimersByHand() => new(standsAt: null, timersByHand: true);

    public override DateTimeOffset GetUtcNow()
    {
        DateTimeOffset now;
        lock (_lock)
            now = (_standsAt ?? System.GetUtcNow()) + _moved;
        OnRead?.Invoke();
        return now;
    }

    public override long GetTimestamp()
    {
        if (!_timersByHand)
            return base.GetTimestamp();
        lock (_lock)
            return (Beginning + _moved).Ticks;
    }

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        if (!_timersByHand)
            return base.CreateTimer(callback, state, dueTime, period);
        var timer = new HandTimer(this, callback, state);
        timer.Change(dueTime, period);
        return timer;
    }

    public void Advance(TimeSpan by)
    {
        List<HandTimer> due;
        lock (_lock)
        {
            _moved += by;
            due = [.. _timers.Where(timer => timer.Due <= _moved)];
            _timers.RemoveAll(due.Contains);
        }
        foreach (var timer in due)
            timer.Run();
    }

    /// <summary>Moves the clock by this step, and again for each timer set in response, until the task has ended.</summary>
    /// <param name="step">The longest timer that the task may set: a longer one would never fire.</param>
    public async Task AdvanceUntilAsync(Task ended, TimeSpan step)
    {
        var began = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(began) < LongestAdvance)
        {
            Task armed;
            lock (_lock)
                armed = _armed.Task;
            Advance(step);
            if (await Task.WhenAny(ended, armed) == ended)
                return;
        }
        throw new TimeoutException($"it has not ended within {LongestAdvance}, in steps of {step}");
    }

    private sealed class HandTimer(TestClock clock, TimerCallback callback, object? state) : ITimer
    {
        public TimeSpan Due { get; private set; }

        public void Run() => callback(state);

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            lock (clock._lock)
            {
                clock._timers.Remove(this);
                if (dueTime == Timeout.InfiniteTimeSpan)
                    return true;
                Due = clock._moved + dueTime;
                clock._timers.Add(this);
                clock._armed.TrySetResult();
                clock._armed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            }
            return true;
        }

        public void Dispose()
        {
            lock (clock._lock)
                clock._timers.Remove(this);
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}
