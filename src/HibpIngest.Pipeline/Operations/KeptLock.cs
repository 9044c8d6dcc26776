using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// Runs an operator's command under a named lock that is renewed until the command ends. A lock whose process died
/// expires within a minute. A command that has lost it is aborted; what was under way at that moment must do no harm.
/// </summary>
internal static class KeptLock
{
    private static readonly TimeSpan Lease = TimeSpan.FromMinutes(1);

    /// <param name="locks">Holds it.</param>
    /// <param name="name">The lock's name.</param>
    /// <param name="refused">The error if another process holds it.</param>
    /// <param name="time">The clock.</param>
    /// <param name="work">Runs under the lock; its token is cancelled when the lock is lost.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <exception cref="NotPossibleException">Another process holds the lock, or took it from this one.</exception>
    public static async Task<T> RunAsync<T>(
        INamedLocks locks, string name, string refused, TimeProvider time, Func<CancellationToken, Task<T>> work,
        CancellationToken cancellationToken)
    {
        var (owner, began) = (LoadLeases.NewOwner(), time.GetTimestamp());
        if (!await locks.TryLockAsync(name, owner, Lease, cancellationToken))
            throw new NotPossibleException(refused);
        using var ends = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        var isLost = false;
        var renewing = RenewAsync();
        try
        {
            return await work(ends.Token);
        }
        catch (OperationCanceledException) when (isLost && !cancellationToken.IsCancellationRequested)
        {
            throw new NotPossibleException("this command lost its lock to another one, as it or its database stood still: run it again");
        }
        finally
        {
            await ends.CancelAsync();
            await renewing;
            await StageRunner.IgnoreUnavailableAsync(() => locks.UnlockAsync(name, owner, CancellationToken.None));
        }

        async Task RenewAsync()
        {
            try
            {
                while (!isLost)
                {
                    await Task.Delay(Lease / 3, time, ends.Token);
                    await StageRunner.IgnoreUnavailableAsync(async () =>
                    {
                        var now = time.GetTimestamp();
                        if (await locks.TryLockAsync(name, owner, Lease, ends.Token) && time.GetElapsedTime(began, now) < Lease)
                            began = now;
                        else
                            isLost = true; // another one has it, or may have had it since
                    });
                }
            }
            catch (OperationCanceledException) when (ends.IsCancellationRequested)
            {
                return; // the work has ended
            }
            await ends.CancelAsync();
        }
    }
}
