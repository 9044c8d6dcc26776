namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// The way into one partition, or into the account: lets transactions go in the order they came. Until
/// something is refused, the number in flight is all that is limited; from then on they go at a
/// <see cref="WriteRate"/>. Into a partition the number in flight grows with each one that is done, so that not hundreds find out
/// at once that it is busy, and ends with the first refusal; into the account it is an <see cref="InFlightLimit"/>'s, always.
/// </summary>
internal sealed class WriteLane : IDisposable
{
    /// <summary>
    /// What is not used of the rate is saved up for so long: timers are late, and between two slices there is a
    /// pause, in which the service saves up too.
    /// </summary>
    private static readonly TimeSpan SavedFor = TimeSpan.FromMilliseconds(250);

    /// <summary>A wait is looked at again at least this often: the rate grows.</summary>
    private static readonly TimeSpan LongestLook = TimeSpan.FromMilliseconds(100);

    /// <summary>What a timer can tell apart: less would be at once, over and over.</summary>
    private static readonly TimeSpan ShortestLook = TimeSpan.FromMilliseconds(1);

    private readonly TimeProvider _time;
    private readonly Lock _lock = new();
    private readonly LinkedList<Waiter> _waiting = new();
    private readonly RecentRate _sent;
    private readonly RecentRate _done;
    private readonly InFlightLimit? _limit;
    private ITimer? _timer;
    private int _mostInFlight;
    private int _inFlight;

    private WriteRate? _rate;
    private double _saved; // entities that may go; below zero: that have gone before their time
    private long _savedAt;
    private long _notBefore;
    private long _limitedSince;
    private long _cutAt;

    /// <param name="mostInFlight">At first; one more for each that is done.</param>
    public WriteLane(int mostInFlight, TimeProvider time)
    {
        (_mostInFlight, _time) = (mostInFlight, time);
        (_sent, _done) = (new RecentRate(time), new RecentRate(time));
    }

    public WriteLane(InFlightLimit limit, TimeProvider time)
        : this(0, time) => _limit = limit;

    private int MostInFlight => _limit?.Most ?? _mostInFlight;

    public bool IsThrottled
    {
        get
        {
            lock (_lock)
                return _rate is not null;
        }
    }

    /// <summary>
    /// Completes when a transaction may go; at once where it needn't wait. To be followed by
    /// <see cref="Done"/>, <see cref="Refused"/> or <see cref="GaveUp"/>.
    /// </summary>
    /// <param name="first">Its turn comes before that of all who wait.</param>
    /// <exception cref="OperationCanceledException">The wait was ended first; nothing follows then.</exception>
    public Task EnterAsync(int entities, bool first, CancellationToken stopWaiting)
    {
        Waiter waiter;
        lock (_lock)
        {
            if (_waiting.Count == 0 && MayGo(_time.GetTimestamp()))
            {
                Go(entities);
                return Task.CompletedTask;
            }
            waiter = new Waiter(entities);
            if (_waiting.Count == 0)
                _limitedSince = Math.Max(_time.GetTimestamp(), _notBefore);
            if (first)
                _waiting.AddFirst(waiter);
            else
                _waiting.AddLast(waiter);
            LetGo();
        }
        return waiter.Task.IsCompleted ? waiter.Task : waiter.WaitAsync(stopWaiting);
    }

    public void Done(int entities, long sentAt)
    {
        lock (_lock)
        {
            _inFlight--;
            _done.Add(entities);
            _limit?.Answered(sentAt);
            if (_rate is null)
                _mostInFlight++;
            LetGo();
        }
    }

    /// <summary>A request had no answer: its connection was refused, timed out or broke. It may be sent again, in the same turn.</summary>
    public void Lost(long sentAt)
    {
        lock (_lock)
            _limit?.Lost(sentAt);
    }

    /// <summary>A transaction was neither done nor refused: something else failed, or it was not sent.</summary>
    public void GaveUp()
    {
        lock (_lock)
        {
            _inFlight--;
            LetGo();
        }
    }

    /// <summary>A transaction was refused.</summary>
    /// <param name="entities">Their time has to pass before anything goes here again.</param>
    /// <param name="sentAt">Timestamp. What was sent before the last cut says nothing of the rate since.</param>
    /// <param name="pause">For so long the service wants nothing.</param>
    /// <param name="cut">The rate was too high; false: it was somebody else's.</param>
    public void Refused(int entities, long sentAt, TimeSpan pause, bool cut)
    {
        lock (_lock)
        {
            _inFlight--;
            var now = _time.GetTimestamp();
            if (_rate is null)
            {
                // What was sent, and not what is done: a refusal may come before the answers to what went before it.
                _rate = new WriteRate(_sent.EntitiesPerSecond);
                _mostInFlight = int.MaxValue;
                _cutAt = now;
            }
            else if (cut && sentAt >= _cutAt)
            {
                _rate.Refused(_done.EntitiesPerSecond);
                _cutAt = now;
            }
            (_savedAt, _saved) = (now, Math.Min(_saved, -entities));
            _notBefore = Math.Max(_notBefore, now + Ticks(pause));
            // A pause that the service asks for says nothing of the rate.
            _limitedSince = Math.Max(now, _notBefore);
            LetGo();
        }
    }

    public void Dispose() => _timer?.Dispose();

    private void Pump()
    {
        lock (_lock)
            LetGo();
    }

    private bool MayGo(long now)
    {
        if (_inFlight >= MostInFlight)
            return false;
        if (_rate is not { EntitiesPerSecond: var rate })
            return true;
        _saved = Math.Min(_saved + (rate * _time.GetElapsedTime(_savedAt, now).TotalSeconds), rate * SavedFor.TotalSeconds);
        _savedAt = now;
        return _saved >= 0 && now >= _notBefore;
    }

    private void LetGo()
    {
        var now = _time.GetTimestamp();
        while (_waiting.First is { Value: var next })
        {
            if (now > _limitedSince)
            {
                _rate?.Limited(_time.GetElapsedTime(_limitedSince, now));
                _limitedSince = now;
            }
            if (!MayGo(now))
            {
                if (_inFlight < MostInFlight)
                    LookAgain(now);
                return;
            }
            _waiting.RemoveFirst();
            // One that gave up meanwhile has left its place in the queue behind.
            if (next.TrySetResult())
                Go(next.Entities);
        }
    }

    private void Go(int entities)
    {
        _inFlight++;
        _limit?.Sent(_inFlight);
        if (_rate is null)
        {
            _sent.Add(entities);
            return;
        }
        // Between half and one and a half of its time, so that processes that met here don't meet again.
        _saved -= entities * (0.5 + Random.Shared.NextDouble());
    }

    private void LookAgain(long now)
    {
        var saving = TimeSpan.FromSeconds(Math.Max(-_saved, 1) / _rate!.EntitiesPerSecond);
        var pause = _time.GetElapsedTime(now, _notBefore);
        var due = Math.Clamp(Math.Max(saving.Ticks, pause.Ticks), ShortestLook.Ticks, LongestLook.Ticks);
        _timer ??= _time.CreateTimer(static lane => ((WriteLane)lane!).Pump(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        _timer.Change(TimeSpan.FromTicks(due), Timeout.InfiniteTimeSpan);
    }

    private long Ticks(TimeSpan time) => (long)(time.TotalSeconds * _time.TimestampFrequency);

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
