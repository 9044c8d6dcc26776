namespace HibpIngest.Stores;

/// <summary>
/// A value from a store, cached in memory and revalidated every few seconds while <see cref="RunAsync"/> runs. While the store is down, the
/// last value stays in use.
/// </summary>
/// <param name="timeout">Timeout of a read if there is a value already: a store that is down may take minutes of retries to fail.</param>
public abstract class RefreshingValue<T>(TimeSpan every, TimeSpan timeout, TimeProvider time)
    where T : class
{
    private readonly SemaphoreSlim _reading = new(1, 1);
    private volatile T? _value;
    private long _readAt;
    private bool _down;

    public bool HasValue => _value is not null;

    /// <summary>
    /// Returns the cached value. Revalidates it first if it is older than <see cref="StaleAfter"/>, as in a process that was suspended.
    /// </summary>
    /// <exception cref="HibpException">It could not be read yet, or does not exist.</exception>
    public ValueTask<T> GetAsync(CancellationToken cancellationToken) =>
        _value is { } value && time.GetElapsedTime(Volatile.Read(ref _readAt)) < StaleAfter
            ? ValueTask.FromResult(value) : GetRefreshedAsync(cancellationToken);

    public async Task RunAsync(CancellationToken cancellationToken)
    {
        using var timer = new PeriodicTimer(every, time);
        try
        {
            do
            {
                try
                {
                    await RefreshAsync(cancellationToken);
                }
                catch (Exception e) when (e is not OperationCanceledException || !cancellationToken.IsCancellationRequested)
                {
                    // The error was logged, and may have passed by the next read.
                }
            }
            while (await timer.WaitForNextTickAsync(cancellationToken));
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
        }
    }

    /// <summary>Reads the value if it has changed. On failure, the last value is kept.</summary>
    /// <exception cref="HibpException">The read failed, and there is no value yet.</exception>
    public async Task RefreshAsync(CancellationToken cancellationToken)
    {
        var before = Volatile.Read(ref _readAt);
        await _reading.WaitAsync(cancellationToken);
        try
        {
            if (_readAt != before)
                return; // another caller has just refreshed it
            await ReadNowAsync(cancellationToken);
        }
        finally
        {
            _reading.Release();
        }
    }

    protected TimeProvider Time => time;

    /// <summary>Callers get the cached value without waiting if it is no older than this.</summary>
    protected virtual TimeSpan StaleAfter => every * 2;

    /// <param name="known">The last value; return it if it is current.</param>
    protected abstract Task<T> ReadAsync(T? known, CancellationToken cancellationToken);

    /// <summary>Creates the exception that is thrown while there is no value.</summary>
    protected abstract UnavailableException NotRead();

    /// <summary>Called once when reads start to fail.</summary>
    protected abstract void OnDown(string reason);

    /// <summary>Called when reads succeed again.</summary>
    protected abstract void OnUp(T value);

    private async ValueTask<T> GetRefreshedAsync(CancellationToken cancellationToken)
    {
        await RefreshAsync(cancellationToken);
        return _value ?? throw NotRead();
    }

    private async Task ReadNowAsync(CancellationToken cancellationToken)
    {
        using var limit = new CancellationTokenSource(_value is null ? Timeout.InfiniteTimeSpan : timeout, time);
        using var linked = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, limit.Token);
        try
        {
            _value = await ReadAsync(_value, linked.Token);
            if (_down)
                OnUp(_value);
            _down = false;
        }
        catch (Exception e) when (e is not OperationCanceledException || !cancellationToken.IsCancellationRequested)
        {
            OnReadFailed(e is OperationCanceledException ? "the store doesn't respond" : UnexpectedError.Reason(e));
            if (_value is null)
                throw;
        }
        finally
        {
            // A cancelled caller has learned nothing about the store.
            if (!cancellationToken.IsCancellationRequested)
                Volatile.Write(ref _readAt, time.GetTimestamp());
        }
    }

    private void OnReadFailed(string reason)
    {
        if (!_down)
            OnDown(reason);
        _down = true;
    }
}
