using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// A lock for whoever would do the same long work twice, which losing it does no harm to: renewed until it is disposed, and free
/// within a minute of its process having died.
/// </summary>
internal sealed class KeptLock : IAsyncDisposable
{
    private static readonly TimeSpan Lease = TimeSpan.FromSeconds(20);

    private readonly INamedLocks _locks;
    private readonly string _name;
    private readonly string _owner;
    private readonly CancellationTokenSource _ended = new();
    private readonly Task _renewing;

    private KeptLock(INamedLocks locks, string name, string owner, TimeProvider time)
    {
        (_locks, _name, _owner) = (locks, name, owner);
        _renewing = RenewAsync(time);
    }

    /// <summary>Null: somebody else has it.</summary>
    public static async Task<KeptLock?> TryTakeAsync(
        INamedLocks locks, string name, TimeProvider time, CancellationToken cancellationToken)
    {
        var owner = LoadLeases.NewOwner();
        return await locks.TryLockAsync(name, owner, Lease, cancellationToken) ? new KeptLock(locks, name, owner, time) : null;
    }

    public async ValueTask DisposeAsync()
    {
        await _ended.CancelAsync();
        await _renewing;
        _ended.Dispose();
        await StageRunner.IgnoreUnavailableAsync(() => _locks.UnlockAsync(_name, _owner, CancellationToken.None));
    }

    private async Task RenewAsync(TimeProvider time)
    {
        using var timer = new PeriodicTimer(Lease / 3, time);
        try
        {
            while (await timer.WaitForNextTickAsync(_ended.Token))
                await StageRunner.IgnoreUnavailableAsync(() => _locks.TryLockAsync(_name, _owner, Lease, _ended.Token));
        }
        catch (OperationCanceledException) when (_ended.IsCancellationRequested)
        {
            // Its work has ended.
        }
    }
}
