namespace HibpIngest;

/// <summary>Runs a set-up until it has succeeded once. Concurrent callers wait for one attempt. Thread-safe.</summary>
public sealed class RunOnce(Func<CancellationToken, Task> setUp)
{
    private readonly SemaphoreSlim _one = new(1);
    private volatile bool _isDone;

    public bool IsDone => _isDone;

    /// <summary>Returns when the set-up has succeeded; throws what it throws.</summary>
    public async Task EnsureAsync(CancellationToken cancellationToken)
    {
        if (_isDone)
            return;
        await _one.WaitAsync(cancellationToken);
        try
        {
            if (!_isDone)
                await setUp(cancellationToken);
            _isDone = true;
        }
        finally
        {
            _one.Release();
        }
    }
}
