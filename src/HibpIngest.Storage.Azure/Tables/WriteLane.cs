namespace HibpIngest.Storage.Azure.Tables;

/// <summary>
/// Queues transactions to one partition, or to the account, in order of arrival. Until one is refused, only the number in flight is
/// limited; afterwards a <see cref="WriteRate"/> applies. For a partition the number in flight grows with each completed transaction, so
/// that hundreds don't find at once that it is busy, and its limit ends with the first refusal. For the account it is always that of an
/// <see cref="InFlightLimit"/>.
/// </summary>
/// <param name="limit">The account's; null for a partition.</param>
internal sealed class WriteLane(int maxInFlight, TimeProvider time, InFlightLimit? limit = null) : IDisposable
{
    /// <summary>Maximum of saved-up rate: timers are late, and in the pause between two slices the service recovers capacity too.</summary>
    private static readonly TimeSpan MaxSaved = TimeSpan.FromMilliseconds(250);

    /// <summary>Maximum time between two checks of the queue: the rate grows during that time.</summary>
    private static readonly TimeSpan MaxPause = TimeSpan.FromMilliseconds(100);

    /// <summary>A refusal within this time of a cut is no reason for another: the service's burst is used up whatever the rate.</summary>
    private static readonly TimeSpan MinTimeBetweenCuts = TimeSpan.FromMilliseconds(250);

    /// <summary>The resolution of a timer: a shorter wait would return at once, again and again.</summary>
    private static readonly TimeSpan MinPause = TimeSpan.FromMilliseconds(1);

    private readonly Lock _lock = new();
    private readonly LinkedList<Waiter> _waiting = new();
    private readonly RecentRate _sent = new(time);
    private readonly RecentRate _done = new(time);
    private ITimer? _timer;
    private int _maxInFlight = maxInFlight;
    private int _inFlight;

    private WriteRate? _rate;
    private double _saved; // entities that may be sent; below zero: sent ahead of the rate
    private long _savedAt;
    private long _notBefore;
    private long _limitedSince;
    private long _cutAt;

    private int MaxInFlight => limit?.Current ?? _maxInFlight;

    public bool IsThrottled
    {
        get
        {
            lock (_lock)
                return _rate is not null;
        }
    }

    /// <summary>After this the caller must call <see cref="Done"/>, <see cref="Refused"/> or <see cref="Abandoned"/>.</summary>
    /// <param name="first">True if it goes ahead of all that wait.</param>
    /// <exception cref="OperationCanceledException">The wait was cancelled; no call must follow.</exception>
    public Task EnterAsync(int entities, bool first, CancellationToken stopWaiting)
    {
        Waiter waiter;
        lock (_lock)
        {
            if (_waiting.Count == 0 && MaySend(time.GetTimestamp()))
            {
                Start(entities);
                return Task.CompletedTask;
            }
            waiter = new Waiter(entities);
            if (_waiting.Count == 0)
                _limitedSince = Math.Max(time.GetTimestamp(), _notBefore);
            if (first)
                _waiting.AddFirst(waiter);
            else
                _waiting.AddLast(waiter);
            SendWaiting();
        }
        return waiter.Task.IsCompleted ? waiter.Task : waiter.WaitAsync(stopWaiting);
    }

    public void Done(int entities, long sentAt)
    {
        lock (_lock)
        {
            _inFlight--;
            _done.Add(entities);
            limit?.Completed(sentAt);
            if (_rate is null)
                _maxInFlight++;
            SendWaiting();
        }
    }

    /// <summary>A request's connection was refused, timed out or broke. It may be sent again in the same turn.</summary>
    public void Lost(long sentAt)
    {
        lock (_lock)
            limit?.Lost(sentAt);
    }

    /// <summary>A transaction failed otherwise, or wasn't sent.</summary>
    public void Abandoned()
    {
        lock (_lock)
        {
            _inFlight--;
            SendWaiting();
        }
    }

    /// <param name="entities">The lane stays closed until the rate has made up for them.</param>
    /// <param name="sentAt">Timestamp of its admission. If that was before the last cut, it says nothing about the rate since.</param>
    /// <param name="cut">True if this lane's rate was too high; false: another's was.</param>
    public void Refused(int entities, long sentAt, TimeSpan pause, bool cut)
    {
        lock (_lock)
        {
            _inFlight--;
            var now = time.GetTimestamp();
            if (_rate is null)
            {
                // The rate counts entities sent, not done: a refusal may come before the responses to earlier transactions.
                _rate = new WriteRate(_sent.EntitiesPerSecond);
                _maxInFlight = int.MaxValue;
                _cutAt = now;
            }
            else if (cut && sentAt >= _cutAt + Ticks(MinTimeBetweenCuts))
            {
                _rate.Refused(_done.EntitiesPerSecond);
                _cutAt = now;
            }
            (_savedAt, _saved) = (now, Math.Min(_saved, -entities));
            _notBefore = Math.Max(_notBefore, now + Ticks(pause));
            // A pause that the service asks for says nothing about the rate.
            _limitedSince = Math.Max(now, _notBefore);
            SendWaiting();
        }
    }

    public void Dispose() => _timer?.Dispose();

    private void Pump()
    {
        lock (_lock)
            SendWaiting();
    }

    private bool MaySend(long now)
    {
        if (_inFlight >= MaxInFlight)
            return false;
        if (_rate is not { EntitiesPerSecond: var rate })
            return true;
        _saved = Math.Min(_saved + (rate * time.GetElapsedTime(_savedAt, now).TotalSeconds), rate * MaxSaved.TotalSeconds);
        _savedAt = now;
        return _saved >= 0 && now >= _notBefore;
    }

    private void SendWaiting()
    {
        var now = time.GetTimestamp();
        while (_waiting.First is { Value: var next })
        {
            if (now > _limitedSince)
            {
                _rate?.Limited(time.GetElapsedTime(_limitedSince, now));
                _limitedSince = now;
            }
            if (!MaySend(now))
            {
                if (_inFlight < MaxInFlight)
                    SchedulePump(now);
                return;
            }
            _waiting.RemoveFirst();
            // False: this waiter was cancelled while queued.
            if (next.TrySetResult())
                Start(next.Entities);
        }
    }

    private void Start(int entities)
    {
        _inFlight++;
        limit?.Sent(_inFlight);
        if (_rate is null)
        {
            _sent.Add(entities);
            return;
        }
        // Randomised between 0.5 and 1.5 of its cost, so that processes that collided here don't collide again.
        _saved -= entities * (0.5 + Random.Shared.NextDouble());
    }

    private void SchedulePump(long now)
    {
        var saving = TimeSpan.FromSeconds(Math.Max(-_saved, 1) / _rate!.EntitiesPerSecond);
        var pause = time.GetElapsedTime(now, _notBefore);
        var due = Math.Clamp(Math.Max(saving.Ticks, pause.Ticks), MinPause.Ticks, MaxPause.Ticks);
        _timer ??= time.CreateTimer(static lane => ((WriteLane)lane!).Pump(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        _timer.Change(TimeSpan.FromTicks(due), Timeout.InfiniteTimeSpan);
    }

    private long Ticks(TimeSpan pause) => (long)(pause.TotalSeconds * time.TimestampFrequency);

    private sealed class Waiter(int entities) : TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)
    {
        public int Entities => entities;

        public async Task WaitAsync(CancellationToken stopWaiting)
        {
            await using var ending = stopWaiting.UnsafeRegister(static (waiter, token) => ((Waiter)waiter!).TrySetCanceled(token), this);
            await Task;
        }
    }
}
