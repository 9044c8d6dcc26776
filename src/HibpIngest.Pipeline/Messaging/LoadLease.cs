namespace HibpIngest.Pipeline.Messaging;

/// <summary>A load that a stage holds under a lease, which is renewed until this is disposed; work under a lost lease stops.</summary>
public sealed class LoadLease : IStageWork
{
    private readonly RenewingLease _lease;

    internal LoadLease(Load load, string owner, IIngests ingests, TimeSpan lease, TimeProvider time, CancellationToken cancellationToken)
    {
        (Load, Owner) = (load, owner);
        // Other database errors don't end the renewals: the work meets them too, and commits only what it still holds. A long step of the
        // work locks the load's row, and renews the lease at its end.
        _lease = new RenewingLease(
            lease / 3, ended => ingests.RenewLoadAsync(load.Id, owner, lease, ended), time, cancellationToken);
    }

    /// <summary>The load as read under the lease: its checkpoint may have moved before.</summary>
    public Load Load { get; }

    /// <summary>Owner of the lease: this run of a stage.</summary>
    public string Owner { get; }

    /// <summary>Cancelled when the lease is lost.</summary>
    public CancellationToken Token => _lease.Token;

    public bool IsLost => _lease.IsLost;

    public long LoadId => Load.Id;

    public string Breach => Load.Breach;

    public int Attempts => Load.Attempts;

    internal Action? OnEnd { get; set; }

    public async ValueTask DisposeAsync()
    {
        await _lease.DisposeAsync();
        OnEnd?.Invoke();
    }
}
