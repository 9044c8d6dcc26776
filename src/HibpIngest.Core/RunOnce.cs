namespace HibpIngest;

/// <summary>Runs a setup until it has succeeded once. Concurrent callers wait for the same attempt. Thread-safe.</summary>
public sealed class RunOnce(Func<CancellationToken, Task> setUp)
{
    private readonly SemaphoreSlim _one = new(1);
    private volatile bool _isDone;

    public bool IsDone => _isDone;

    /// <summary>Returns when the setup has succeeded; throws what the setup throws.</summary>
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
