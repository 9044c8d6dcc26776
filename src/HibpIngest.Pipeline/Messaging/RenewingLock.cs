namespace HibpIngest.Pipeline.Messaging;

/// <summary>
/// Runs work under a named lock that is renewed until the work ends. A lock whose process died expires within a minute. Work that
/// has lost it is aborted; work in progress at that moment must do no harm.
/// </summary>
internal static class RenewingLock
{
    private static readonly TimeSpan Lease = TimeSpan.FromMinutes(1);

    public static async Task<T> RunAsync<T>(
        IDatabaseState locks, string name, string refused, TimeProvider time, Func<CancellationToken, Task<T>> work,
        CancellationToken cancellationToken)
    {
        T? result = default;
        return await TryRunAsync(locks, name, time, async token => result = await work(token), cancellationToken)
            ? result! : throw new NotPossibleException(refused);
    }

    public static async Task<bool> TryRunAsync(
        IDatabaseState locks, string name, TimeProvider time, Func<CancellationToken, Task> work, CancellationToken cancellationToken)
    {
        var (owner, began) = (LoadLeases.NewOwner(), time.GetTimestamp());
        if (!await locks.TryLockAsync(name, owner, Lease, cancellationToken))
            return false;
        var lease = new RenewingLease(Lease / 3, RenewAsync, time, cancellationToken);
        try
        {
            await work(lease.Token);
            return true;
        }
        catch (OperationCanceledException) when (lease.IsLost && !cancellationToken.IsCancellationRequested)
        {
            throw new NotPossibleException("the lock was lost, because this process or its database stalled: run the command again");
        }
        finally
        {
            await lease.DisposeAsync();
            await StageRunner.IgnoreUnavailableAsync(() => locks.UnlockAsync(name, owner, CancellationToken.None));
        }

        async Task<bool> RenewAsync(CancellationToken ended)
        {
            var now = time.GetTimestamp();
            // Another process may have had the lock since.
            if (time.GetElapsedTime(began, now) >= Lease || !await locks.TryLockAsync(name, owner, Lease, ended))
                return false;
            began = now;
            return true;
        }
    }
}
