using HibpIngest.Breaches;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>
/// A load that a stage has taken for itself, with a lease that is renewed every third of it until this is disposed;
/// what works under it stops where it is lost.
/// </summary>
public sealed class LoadLease : IStageWork
{
    private readonly CancellationTokenSource _ends;
    private readonly Task _renewing;

    internal LoadLease(Load load, string owner, IIngests ingests, TimeSpan lease, TimeProvider time, CancellationToken cancellationToken)
    {
        (Load, Owner) = (load, owner);
        _ends = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        _renewing = RenewAsync(ingests, lease, time);
    }

    /// <summary>As it was when it was taken: read under the lease, for its checkpoint may have moved before.</summary>
    public Load Load { get; }

    /// <summary>Who holds it: this run of a stage, and nobody else.</summary>
    public string Owner { get; }

    /// <summary>For what is done under the lease.</summary>
    public CancellationToken Token => _ends.Token;

    /// <inheritdoc/>
    public bool IsLost { get; private set; }

    /// <inheritdoc/>
    public long LoadId => Load.Id;

    /// <inheritdoc/>
    public string Breach => Load.Breach;

    /// <inheritdoc/>
    public int Attempts => Load.Attempts;

    /// <summary>What is to end with it.</summary>
    internal Action? OnEnd { get; set; }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await _ends.CancelAsync();
        await _renewing;
        _ends.Dispose();
        OnEnd?.Invoke();
    }

    private async Task RenewAsync(IIngests ingests, TimeSpan lease, TimeProvider time)
    {
        using var timer = new PeriodicTimer(lease / 3, time);
        try
        {
            while (await timer.WaitForNextTickAsync(_ends.Token))
            {
                try
                {
                    if (await ingests.RenewLoadAsync(Load.Id, Owner, lease, _ends.Token))
                        continue;
                    IsLost = true;
                    await _ends.CancelAsync();
                }
                catch (Exception e) when (e is not OperationCanceledException)
                {
                    // A database that is down, or refuses, says so to the work as well, which commits only what it
                    // still holds; and the load's row is held by a long step of the work's own, which renews the
                    // lease at its end.
                }
            }
        }
        catch (OperationCanceledException)
        {
            // The work has ended.
        }
    }
}
