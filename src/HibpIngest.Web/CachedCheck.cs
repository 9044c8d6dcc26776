using HibpIngest.Errors;

namespace HibpIngest.Web;

/// <summary>Whether something answers, asked once in a while however often anybody wants to know.</summary>
/// <param name="ask">Asks; throws where there is no answer.</param>
public sealed class CachedCheck(Func<CancellationToken, Task> ask, TimeProvider time)
{
    // Anybody may ask, however often; the store is asked once in that time.
    private static readonly TimeSpan KeptFor = TimeSpan.FromSeconds(10);

    // Shorter than a probe waits.
    private static readonly TimeSpan AnswerTimeout = TimeSpan.FromSeconds(5);

    private readonly Lock _lock = new();
    private Task<bool> _check = Task.FromResult(false);
    private long _checkedAt;

    /// <summary>As found within the last ten seconds.</summary>
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
