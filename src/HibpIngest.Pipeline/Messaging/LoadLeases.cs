namespace HibpIngest.Pipeline.Messaging;

/// <summary>Acquires the lease of a load for stages whose work is a whole load, one owner at a time.</summary>
public sealed class LoadLeases(ILoads loads, PipelineMessages messages, IOptions<IngestOptions> options, TimeProvider time)
{
    /// <summary>
    /// Acquires a load's lease, if the load is in this state, and reads the load under it. If another owner has the lease, the message is
    /// sent again, visible after the lease's end: acknowledging it would leave the load to Sweep if that owner has died.
    /// </summary>
    /// <returns>The lease; without it the load as it was found, null if there is none.</returns>
    /// <param name="cancellationToken">Also ends the work under the lease.</param>
    public async Task<(LoadLease? Lease, LoadHead? Found)> ClaimAsync(
        LoadId load, LoadState state, PipelineMessage again, CancellationToken cancellationToken, Action? onHeld = null)
    {
        // Unique to each run: two deliveries of one message in one process are two owners.
        var owner = NewOwner();
        if (!await loads.TryClaimLoadAsync(load, state, owner, options.Value.LoadLease, cancellationToken))
        {
            var found = await loads.GetLoadHeadAsync(load, cancellationToken);
            if (found?.State == state && !found.Stopped)
            {
                onHeld?.Invoke();
                await messages.SendAfterLeaseAsync(again, found.LeaseExpiresAt, options.Value.LoadLease, cancellationToken);
            }
            return (null, found);
        }
        LoadLease? lease = null;
        try
        {
            if (await loads.GetLoadAsync(load, cancellationToken) is { } held && held.State == state)
                lease = new LoadLease(held, owner, loads, options.Value.LoadLease, time, cancellationToken);
            return (lease, null);
        }
        finally
        {
            if (lease is null)
                await StageRunner.IgnoreUnavailableAsync(() => ReleaseAsync(load, owner));
        }
    }

    public Task ReleaseAsync(LoadLease lease) => ReleaseAsync(lease.Load.Id, lease.Owner);

    public async Task HandOnAsync(LoadLease lease, PipelineMessage next)
    {
        await ReleaseAsync(lease);
        await messages.SendLoadMessageAsync(next, TimeSpan.Zero, CancellationToken.None);
    }

    /// <summary>Identifies this process. Random, because machine names and process ids are reused.</summary>
    public static string Host { get; } = Convert.ToHexStringLower(RandomNumberGenerator.GetBytes(8));

    /// <summary>Returns a new owner, which begins with the process, so that the owners of a dead process can be recognised.</summary>
    internal static string NewOwner() => $"{Host}-{Guid.NewGuid():N}";

    private Task ReleaseAsync(LoadId load, string owner) => loads.ReleaseLoadAsync(load, owner, CancellationToken.None);
}

/// <summary>A load that a stage holds under a lease, which is renewed until this is disposed; work under a lost lease stops.</summary>
public sealed class LoadLease : IStageWork
{
    private readonly RenewingLease _lease;

    internal LoadLease(Load load, string owner, ILoads loads, TimeSpan lease, TimeProvider time, CancellationToken cancellationToken)
    {
        (Load, Owner) = (load, owner);
        // Other database errors don't end the renewals: the work meets them too, and commits only what it still holds. A long step of the
        // work locks the load's row, and renews the lease at its end.
        _lease = new RenewingLease(lease / 3, ended => loads.RenewLoadAsync(load.Id, owner, lease, ended), time, cancellationToken);
    }

    /// <summary>The load as read under the lease: its checkpoint may have moved before.</summary>
    public Load Load { get; }

    /// <summary>True if this message has just started the load: it is registered, and its metadata has been read.</summary>
    internal bool IsNew { get; set; }

    public string Owner { get; }

    public CancellationToken Token => _lease.Token;

    public bool IsLost => _lease.IsLost;

    public LoadId LoadId => Load.Id;

    public string Breach => Load.Breach;

    public int Attempts => Load.Attempts;

    internal Action? OnEnd { get; set; }

    public async ValueTask DisposeAsync()
    {
        await _lease.DisposeAsync();
        OnEnd?.Invoke();
    }
}
