namespace HibpIngest.Api;

/// <summary>Checks whether a store responds, and caches the result for ten seconds.</summary>
/// <param name="ask">Calls the store; throws if there is no response.</param>
public sealed class CachedCheck(Func<CancellationToken, Task> ask, TimeProvider time)
{
    // Callers need no key and may ask at any rate; the store is called once in this time.
    private static readonly TimeSpan KeptFor = TimeSpan.FromSeconds(10);

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
            if (_checkedAt == 0 || (_check.IsCompleted && time.GetElapsedTime(_checkedAt) > KeptFor))
            {
                _checkedAt = time.GetTimestamp();
                _check = AskAsync();
            }
            return _check;
        }
    }

    private async Task<bool> AskAsync()
    {
        using var timeout = new CancellationTokenSource(AnswerTimeout, time);
        try
        {
            await ask(timeout.Token);
            return true;
        }
        catch (Exception e) when (e is HibpException or OperationCanceledException)
        {
            return false;
        }
    }
}
