namespace HibpIngest.Stores;

/// <summary>
/// The places that the transactions of one slice share: so many are in flight at once. One that has to wait
/// because its partition is throttled steps aside meanwhile, so that it keeps no other waiting.
/// </summary>
/// <param name="stopWaiting">Ends every wait, for a place and for a partition.</param>
public sealed class TransactionsInFlight(int most, CancellationToken stopWaiting)
{
    // What waits aside takes memory: past so many, one that waits keeps its place.
    private const int AsideForEachPlace = 16;

    private readonly Lock _lock = new();
    private int _free = most;
    private int _mayStepAside = most * AsideForEachPlace;
    private TaskCompletionSource? _waiting;

    public CancellationToken StopWaiting => stopWaiting;

    /// <summary>Takes a place, as soon as there is one. To be called again only when it has returned.</summary>
    /// <exception cref="OperationCanceledException">Waiting has ended.</exception>
    public async ValueTask EnterAsync()
    {
        stopWaiting.ThrowIfCancellationRequested();
        TaskCompletionSource waiting;
        lock (_lock)
        {
            if (_free > 0)
            {
                _free--;
                return;
            }
            _waiting = waiting = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        }
        await waiting.Task.WaitAsync(stopWaiting);
    }

    public void Leave()
    {
        lock (_lock)
            Free();
    }

    /// <summary>
    /// Gives a place to another for as long as a wait takes; to be followed by <see cref="ComeBack"/> where it
    /// is true. False: too many wait already, and this one keeps its place.
    /// </summary>
    public bool TryStepAside()
    {
        lock (_lock)
        {
            if (_mayStepAside == 0)
                return false;
            _mayStepAside--;
            Free();
            return true;
        }
    }

    /// <summary>Goes in flight after a wait, at once: the turn that was waited for would be lost.</summary>
    public void ComeBack()
    {
        lock (_lock)
        {
            _mayStepAside++;
            _free--;
        }
    }

    private void Free()
    {
        if (++_free <= 0 || _waiting is not { } waiting)
            return;
        _waiting = null;
        _free--;
        waiting.SetResult();
    }
}
