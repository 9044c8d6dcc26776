namespace HibpIngest.Testing;

/// <summary>
/// A clock that advances to the next timer as soon as nothing is left to do before it. Everything runs on the thread
/// that calls <see cref="Run"/>, in the same order each time: continuations return to it, as long as nothing awaits
/// work of other threads.
/// </summary>
internal sealed class VirtualTime : TimeProvider
{
    /// <summary>The first timestamp isn't 0, because some code takes 0 to mean never.</summary>
    private static readonly long Beginning = TimeSpan.FromDays(1).Ticks;

    private readonly PriorityQueue<(Timer? Timer, int Version, TaskCompletionSource? Pause), (long Due, long Order)> _due = new();
    private readonly OneThread _thread = new();
    private long _now = Beginning;
    private long _order;

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public TimeSpan Elapsed => new(_now - Beginning);

    public override long GetTimestamp() => _now;

    public override DateTimeOffset GetUtcNow() => new(_now, TimeSpan.Zero);

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var timer = new Timer(this, callback, state);
        timer.Change(dueTime, period);
        return timer;
    }

    public Task PauseAsync(TimeSpan time)
    {
        // Completed on the thread that everything runs on, so that continuations may run at once.
        var pause = new TaskCompletionSource();
        Add(null, 0, pause, time);
        return pause.Task;
    }

    /// <exception cref="InvalidOperationException">The work waits for something that no timer completes.</exception>
    public void Run(Func<Task> work)
    {
        var before = SynchronizationContext.Current;
        SynchronizationContext.SetSynchronizationContext(_thread);
        try
        {
            var running = work();
            for (_thread.RunPosted(); !running.IsCompleted; _thread.RunPosted())
            {
                if (!_due.TryDequeue(out var next, out var at))
                    throw new InvalidOperationException("the simulated work waits for something that never comes");
                _now = at.Due;
                next.Pause?.SetResult();
                next.Timer?.Run(next.Version);
            }
            running.GetAwaiter().GetResult();
        }
        finally
        {
            SynchronizationContext.SetSynchronizationContext(before);
        }
    }

    private void Add(Timer? timer, int version, TaskCompletionSource? pause, TimeSpan time) =>
        _due.Enqueue((timer, version, pause), (_now + time.Ticks, _order++));

    private sealed class OneThread : SynchronizationContext
    {
        private readonly Queue<(SendOrPostCallback Callback, object? State)> _posted = new();

        public override void Post(SendOrPostCallback d, object? state) => _posted.Enqueue((d, state));

        public void RunPosted()
        {
            while (_posted.TryDequeue(out var next))
                next.Callback(next.State);
        }
    }

    /// <summary>Runs once each time it is set.</summary>
    private sealed class Timer(VirtualTime time, TimerCallback callback, object? state) : ITimer
    {
        private int _version;

        public void Run(int version)
        {
            if (version == _version)
                callback(state);
        }

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            _version++;
            if (dueTime != Timeout.InfiniteTimeSpan)
                time.Add(this, _version, null, dueTime);
            return true;
        }

        public void Dispose() => _version++;

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}
