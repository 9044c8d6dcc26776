namespace HibpIngest.Stores;

/// <summary>
/// Limits the concurrent transactions of one slice. A transaction that waits for a throttled partition gives up its slot in the meantime,
/// so that it delays no other.
/// </summary>
/// <param name="stopWaiting">Ends every wait, for a slot and for a partition.</param>
public sealed class TransactionsInFlight(int max, CancellationToken stopWaiting)
{
    // A transaction that waits without a slot takes memory: beyond this number, waiting transactions keep their slot.
    private const int WaitingPerSlot = 16;

    private readonly Lock _lock = new();
    private int _free = max;
    private int _mayStepAside = max * WaitingPerSlot;
    private TaskCompletionSource? _waiting;

    public CancellationToken StopWaiting => stopWaiting;

    /// <summary>Waits for a free slot and takes it. Not for concurrent calls.</summary>
    /// <exception cref="OperationCanceledException">Waiting was stopped.</exception>
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

    /// <summary>Frees the slot until a wait ends, unless too many wait already.</summary>
    public async Task StepAsideAsync(Task wait)
    {
        var aside = TryStepAside();
        try
        {
            await wait;
        }
        finally
        {
            if (aside)
                ComeBack();
        }
    }

    private bool TryStepAside()
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

    // Takes a slot at once, even beyond the limit: otherwise the partition's turn that was waited for would be lost.
    private void ComeBack()
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
