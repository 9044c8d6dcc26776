namespace HibpIngest.Testing;

/// <summary>A clock that goes on only when it is told to, and then runs what has become due.</summary>
internal sealed class ManualTime : TimeProvider
{
    private readonly Lock _lock = new();
    private readonly List<ManualTimer> _timers = [];
    private TaskCompletionSource _armed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private TimeSpan _now = TimeSpan.FromDays(1);

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public override long GetTimestamp()
    {
        lock (_lock)
            return _now.Ticks;
    }

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var timer = new ManualTimer(this, callback, state);
        timer.Change(dueTime, period);
        return timer;
    }

    public void Advance(TimeSpan by)
    {
        List<ManualTimer> due;
        lock (_lock)
        {
            _now += by;
            due = [.. _timers.Where(timer => timer.Due <= _now)];
            _timers.RemoveAll(due.Contains);
        }
        foreach (var timer in due)
            timer.Run();
    }

    /// <summary>Lets so much time pass, and again for each timer set in answer to it, until the task has ended.</summary>
    /// <param name="ended">What the time passes for.</param>
    /// <param name="step">No timer may be set for longer: it would be waited for and never come.</param>
    public async Task AdvanceUntilAsync(Task ended, TimeSpan step)
    {
        while (true)
        {
            Task armed;
            lock (_lock)
                armed = _armed.Task;
            Advance(step);
            if (await Task.WhenAny(ended, armed) == ended)
                return;
        }
    }

    private sealed class ManualTimer(ManualTime time, TimerCallback callback, object? state) : ITimer
    {
        public TimeSpan Due { get; private set; }

        public void Run() => callback(state);

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            lock (time._lock)
            {
                time._timers.Remove(this);
                if (dueTime == Timeout.InfiniteTimeSpan)
                    return true;
                Due = time._now + dueTime;
                time._timers.Add(this);
                time._armed.TrySetResult();
                time._armed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            }
            return true;
        }

        public void Dispose()
        {
            lock (time._lock)
                time._timers.Remove(this);
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}
