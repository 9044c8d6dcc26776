using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>Renews a load's lease every third of it until it is disposed; what works under it stops where it is lost.</summary>
internal sealed class LeaseKeeper : IAsyncDisposable
{
    private readonly CancellationTokenSource _ends;
    private readonly Task _renewing;

    private LeaseKeeper(PipelineContext context, long load, string owner, CancellationToken cancellationToken)
    {
        _ends = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        _renewing = RenewAsync(context.Database, load, owner, context.Options.LoadLease, context.Time);
    }

    /// <summary>For what is done under the lease.</summary>
    public CancellationToken Token => _ends.Token;

    /// <summary>Somebody else has the load.</summary>
    public bool IsLost { get; private set; }

    /// <summary>Keeps a lease that the owner has taken.</summary>
    public static LeaseKeeper Keep(PipelineContext context, long load, string owner, CancellationToken cancellationToken) => new(context,
        load, owner, cancellationToken);

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await _ends.CancelAsync();
        await _renewing;
        _ends.Dispose();
    }

    private async Task RenewAsync(IBreachDatabase database, long load, string owner, TimeSpan lease, TimeProvider time)
    {
        using var timer = new PeriodicTimer(lease / 3, time);
        try
        {
            while (await timer.WaitForNextTickAsync(_ends.Token))
            {
                // A database that is down says so to the work as well; the load's row is held by a long step of the
                // work's own, which renews the lease at its end.
                var kept = true;
                await PipelineContextMessages.IgnoreUnavailableAsync(async () => kept = await database.RenewLoadAsync(load, owner, lease,
                    _ends.Token));
                if (kept)
                    continue;
                IsLost = true;
                await _ends.CancelAsync();
            }
        }
        catch (OperationCanceledException)
        {
            // The work has ended.
        }
    }
}
