namespace HibpIngest.Pipeline.Messaging;

/// <summary>
/// Renews a lease periodically until it is disposed, however long the work under it takes to stop. When the lease is lost,
/// <see cref="Token"/> is cancelled. A renewal that meets an unavailable store is retried after the same delay: it may succeed before the
/// lease ends, and if another owner has acquired the lease by then, the next renewal reports it.
/// </summary>
internal sealed class RenewingLease : IAsyncDisposable
{
    private readonly CancellationTokenSource _token;
    private readonly CancellationTokenSource _ended = new();
    private readonly Task _renewing;

    /// <param name="every">Time between renewals: a third of the lease.</param>
    /// <param name="renew">Renews; false: the lease is lost.</param>
    /// <param name="cancellationToken">Cancels <see cref="Token"/>; renewals continue.</param>
    /// <param name="failed">Receives any other error, which ends the renewals; null to continue the renewals after such errors.</param>
    public RenewingLease(
        TimeSpan every, Func<CancellationToken, Task<bool>> renew, TimeProvider time, CancellationToken cancellationToken,
        Func<Exception, Task>? failed = null)
    {
        _token = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        _renewing = RenewAsync(every, renew, time, failed);
    }

    public CancellationToken Token => _token.Token;

    /// <summary>True if another owner has the lease, or may have had it.</summary>
    public bool IsLost { get; private set; }

    public async ValueTask DisposeAsync()
    {
        await _ended.CancelAsync();
        await _renewing;
        _ended.Dispose();
        _token.Dispose();
    }

    private async Task RenewAsync(
        TimeSpan every, Func<CancellationToken, Task<bool>> renew, TimeProvider time, Func<Exception, Task>? failed)
    {
        while (!IsLost)
        {
            try
            {
                await Task.Delay(every, time, _ended.Token);
                IsLost = !await renew(_ended.Token);
            }
            catch (OperationCanceledException) when (_ended.IsCancellationRequested)
            {
                return;
            }
            catch (Exception e)
            {
                if (e is UnavailableException || failed is null)
                    continue;
                await failed(e);
                return;
            }
        }
        await _token.CancelAsync();
    }
}
