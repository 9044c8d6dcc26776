namespace HibpIngest.AzureStorage.Tables;

/// <summary>
/// The way into one partition, or into the account: lets transactions go in the order they came. Until something is refused, the number in flight is all that is limited, and it grows with each one that
/// is done, so that not hundreds find out at once that a partition is busy; from then on they go at a <see cref="WriteRate"/>.
/// </summary>
internal sealed class WriteLane : IDisposable
{
    /// <summary>How far behind its time a transaction may go and the next one still keep its own: timers are late, and between two slices there is a pause, in which the service saves up too.</summary>
    private static readonly TimeSpan Lateness = TimeSpan.FromMilliseconds(250);

    /// <summary>What went in within so long is the rate at which something was refused; less is too short to tell.</summary>
    private static readonly TimeSpan ShortestCount = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan LongestCount = TimeSpan.FromSeconds(1);

    private readonly TimeProvider _time;
    private readonly Lock _lock = new();
    private readonly LinkedList<Waiter> _waiting = new();
    private ITimer? _timer;
    private int _mostInFlight;
    private int _inFlight;

    private WriteRate? _rate;
    private long _nextAt;
    private long _limitedSince;
    private long _cutAt;

    private long _countedSince;
    private long _counted;
    private double _countedBefore;

    /// <param name="mostInFlight">At first; one more for each that is done.</param>
    public WriteLane(int mostInFlight, TimeProvider time)
    {
        (_mostInFlight, _time) = (mostInFlight, time);
        _countedSince = time.GetTimestamp();
    }

    /// <summary>Whether something was refused here.</summary>
    public bool IsThrottled
    {
        get
        {
            lock (_lock)
                return _rate is not null;
        }
    }

    /// <summary>Completes when a transaction may go; at once where it needn't wait. To be followed by <see cref="Done"/>, <see cref="Refused"/> or <see cref="GaveUp"/>.</summary>
    /// <param name="again">It was refused before: its turn comes before those that have not been tried.</param>
    /// <exception cref="OperationCanceledException">The patience ended first; nothing follows then.</exception>
    public Task EnterAsync(int entities, bool again, CancellationToken patience)
    {
        Waiter waiter;
        lock (_lock)
        {
            if (!again && _waiting.Count == 0 && MayGo(_time.GetTimestamp()))
            {
                Go(entities, _time.GetTimestamp());
                return Task.CompletedTask;
            }
            waiter = new Waiter(entities);
            if (_waiting.Count == 0)
                _limitedSince = _time.GetTimestamp();
            if (again)
                _waiting.AddFirst(waiter);
            else
                _waiting.AddLast(waiter);
            LetGo();
        }
        return waiter.Task.IsCompleted ? waiter.Task : waiter.WaitAsync(patience);
    }

    /// <summary>A transaction is done.</summary>
    public void Done(int entities)
    {
        lock (_lock)
        {
            _inFlight--;
            if (_rate is null)
                _mostInFlight++;
            Count(entities);
            LetGo();
        }
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
    /// <param name="sentAt">Timestamp. What was sent before the last cut says nothing of the rate since.</param>
    /// <param name="pause">For so long the service wants nothing.</param>
    public void Refused(long sentAt, TimeSpan pause)
    {
        lock (_lock)
        {
            _inFlight--;
            var now = _time.GetTimestamp();
            if (_rate is null)
            {
                Count(0);
                _rate = new WriteRate((_countedBefore + _counted) / ((_countedBefore > 0 ? LongestCount : TimeSpan.Zero) + Elapsed(_countedSince, now, ShortestCount)).TotalSeconds);
                _mostInFlight = int.MaxValue;
                _cutAt = now;
            }
            else if (sentAt >= _cutAt)
            {
                _rate.Refused();
                _cutAt = now;
            }
            _limitedSince = now;
            _nextAt = Math.Max(_nextAt, now + Ticks(pause));
            LetGo();
        }
    }

    public void Dispose() => _timer?.Dispose();

    private void Pump()
    {
        lock (_lock)
            LetGo();
    }

    private bool MayGo(long now) => _inFlight < _mostInFlight && (_rate is null || now >= _nextAt);

    private void LetGo()
    {
        var now = _time.GetTimestamp();
        while (_waiting.First is { Value: var next })
        {
            _rate?.Limited(_time.GetElapsedTime(_limitedSince, now));
            _limitedSince = now;
            if (!MayGo(now))
            {
                if (_inFlight < _mostInFlight)
                {
                    _timer ??= _time.CreateTimer(static lane => ((WriteLane)lane!).Pump(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
                    _timer.Change(_time.GetElapsedTime(now, _nextAt), Timeout.InfiniteTimeSpan);
                }
                return;
            }
            _waiting.RemoveFirst();
            // One that gave up meanwhile has left its place in the queue behind.
            if (next.TrySetResult())
                Go(next.Entities, now);
        }
    }

    private void Go(int entities, long now)
    {
        _inFlight++;
        if (_rate is null)
            return;
        // Between half and one and a half of its time, so that processes that met here don't meet again.
        var time = TimeSpan.FromSeconds(entities / _rate.EntitiesPerSecond * (0.5 + Random.Shared.NextDouble()));
        _nextAt = Math.Max(_nextAt, now - Ticks(Lateness)) + Ticks(time);
    }

    private void Count(int entities)
    {
        var now = _time.GetTimestamp();
        if (_time.GetElapsedTime(_countedSince, now) is var elapsed && elapsed > LongestCount)
        {
            _countedBefore = elapsed < 2 * LongestCount ? _counted : 0;
            (_countedSince, _counted) = (now, 0);
        }
        _counted += entities;
    }

    private TimeSpan Elapsed(long since, long now, TimeSpan least) => _time.GetElapsedTime(since, now) is var elapsed && elapsed > least ? elapsed : least;

    private long Ticks(TimeSpan time) => (long)(time.TotalSeconds * _time.TimestampFrequency);

    private sealed class Waiter(int entities) : TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)
    {
        public int Entities => entities;

        public async Task WaitAsync(CancellationToken patience)
        {
            await using var ending = patience.UnsafeRegister(static (waiter, token) => ((Waiter)waiter!).TrySetCanceled(token), this);
            await Task;
        }
    }
}
