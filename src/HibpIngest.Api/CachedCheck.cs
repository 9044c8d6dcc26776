namespace HibpIngest.Api;

/// <summary>Checks whether a store responds, and caches the result for ten seconds.</summary>
/// <param name="call">Calls the store; throws if there is no response.</param>
public sealed class CachedCheck(Func<CancellationToken, Task> call, TimeProvider time)
{
    // Callers need no key and may call at any rate; the store is called once in this time.
    private static readonly TimeSpan CachedFor = TimeSpan.FromSeconds(10);

    // Shorter than the timeout of a probe.
    private static readonly TimeSpan AnswerTimeout = TimeSpan.FromSeconds(5);

    private readonly Lock _lock = new();
    private Task<bool> _check = Task.FromResult(false);
    private long _checkedAt;

    /// <summary>Returns whether the store responded, at most ten seconds ago.</summary>
    public Task<bool> IsWellAsync()
    {
        lock (_lock)
        {
            if (_checkedAt == 0 || (_check.IsCompleted && time.GetElapsedTime(_checkedAt) > CachedFor))
            {
                _checkedAt = time.GetTimestamp();
                _check = CallAsync();
            }
            return _check;
        }
    }

    private async Task<bool> CallAsync()
    {
        using var timeout = new CancellationTokenSource(AnswerTimeout, time);
        try
        {
            await call(timeout.Token);
            return true;
        }
        catch (Exception e) when (e is HibpException or OperationCanceledException)
        {
            return false;
        }
    }
}
