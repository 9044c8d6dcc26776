using HibpIngest.Errors;

namespace HibpIngest.Stores;

/// <summary>
/// Something of a store, held in memory: looked at every few seconds, for as long as <see cref="RunAsync"/> runs; while the store
/// is down, what was read last counts on.
/// </summary>
/// <param name="timeout">Longest look where there is something already: a store that is down may take minutes of tries to say so.</param>
public abstract class Revalidated<T>(TimeSpan every, TimeSpan timeout, TimeProvider time)
    where T : class
{
    private readonly SemaphoreSlim _reading = new(1, 1);
    private volatile T? _value;
    private long _lookedAt;
    private bool _down;

    /// <summary>Something was read: nobody waits for a first look.</summary>
    public bool HasValue => _value is not null;

    /// <summary>
    /// As it was found last; looked at anew where nobody has for longer than a while, as in a process that was suspended.
    /// </summary>
    /// <exception cref="StoreUnavailableException">It could not be read yet, or is not there.</exception>
    public async ValueTask<T> GetAsync(CancellationToken cancellationToken)
    {
        if (_value is { } value && time.GetElapsedTime(Volatile.Read(ref _lookedAt)) < StaleAfter)
            return value;
        await RefreshAsync(cancellationToken);
        return _value ?? throw NotRead();
    }

    /// <summary>Revalidates until cancelled.</summary>
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
                    // Whatever it is, the next look may find it. What is expected was logged; anything else is by who asks next.
                }
            }
            while (await timer.WaitForNextTickAsync(cancellationToken));
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
        }
    }

    /// <summary>Reads what has changed. Where it fails, what was read last stays.</summary>
    /// <exception cref="HibpException">It failed, and nothing was read before.</exception>
    public async Task RefreshAsync(CancellationToken cancellationToken)
    {
        var before = Volatile.Read(ref _lookedAt);
        await _reading.WaitAsync(cancellationToken);
        try
        {
            if (_lookedAt != before)
                return; // somebody else has just looked
            await LookAsync(cancellationToken);
        }
        finally
        {
            _reading.Release();
        }
    }

    protected TimeProvider Time => time;

    /// <summary>Nobody waits for a look while what is there is no older than this.</summary>
    protected virtual TimeSpan StaleAfter => every * 2;

    /// <param name="known">What was read last; to be given back where that is what is there.</param>
    protected abstract Task<T> ReadAsync(T? known, CancellationToken cancellationToken);

    /// <summary>What is thrown where nothing was read yet.</summary>
    protected abstract StoreUnavailableException NotRead();

    /// <summary>Told once when it can't be read any more.</summary>
    protected abstract void OnDown(string reason);

    /// <summary>Told when it can be read again.</summary>
    protected abstract void OnUp(T value);

    private async Task LookAsync(CancellationToken cancellationToken)
    {
        using var ends = new CancellationTokenSource(_value is null ? Timeout.InfiniteTimeSpan : timeout, time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, ends.Token);
        try
        {
            _value = await ReadAsync(_value, either.Token);
            if (_down)
                OnUp(_value);
            _down = false;
        }
        catch (OperationCanceledException) when (ends.IsCancellationRequested && !cancellationToken.IsCancellationRequested)
        {
            NoteDown("the store doesn't answer");
        }
        catch (HibpException e)
        {
            NoteDown(e.Message);
            if (_value is null)
                throw;
        }
        finally
        {
            // Who has left has found nothing out for the others.
            if (!cancellationToken.IsCancellationRequested)
                Volatile.Write(ref _lookedAt, time.GetTimestamp());
        }
    }

    private void NoteDown(string reason)
    {
        if (!_down)
            OnDown(reason);
        _down = true;
    }
}
