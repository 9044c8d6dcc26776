using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>Moves a database on that was restored from a backup.</summary>
public sealed class MoveOn(
    IDatabaseSetup database, ILoads loads, IStoreRegister register, IBreachBlobs blobs, StoreSetup setup, LoadStart starts,
    PublishCatalogue catalogue, PipelineMessages messages)
{
    /// <summary>
    /// Moves a database on that was restored from a backup, no host running: what was not mailed at the backup
    /// is held, and zips that have no load any more are loaded again, held. May be run again where it was
    /// broken off. Returns the ids it moved to, and how many zips it started.
    /// </summary>
    /// <exception cref="NotPossibleException">The database is behind nothing.</exception>
    public async Task<(StoreIds Ids, int Loads)> RunAsync(CancellationToken cancellationToken)
    {
        const string Because = "the database was restored from a backup, and its mails may have gone out since: hibp notify releases them";
        if (!await StoreSetup.HasSchemaAsync(database, cancellationToken))
            throw new NotPossibleException($"database {database.DisplayName} is not there, or is empty: there is nothing to move on");
        await setup.EnsureIdentityAsync(cancellationToken);
        var (confirmed, brokenOff) = await register.GetConfirmedAsync(cancellationToken);
        var highest = await database.GetHighestIdsAsync(cancellationToken);
        if (!brokenOff && highest.Load >= confirmed.Load && highest.Mark >= confirmed.Mark)
            throw new NotPossibleException($"database {database.DisplayName} is not behind its account table: there is nothing to move on");
        // First of all: a host that is started in between must not mail, nor take what is done by halves for the whole.
        await register.SetMovingOnAsync(true, cancellationToken);
        await database.MoveOnAsync(new StoreIds(0, 0), Because, cancellationToken);
        // What readers have is newer than the backup.
        var change = await catalogue.BeginChangeAsync(cancellationToken);
        var started = 0;
        await foreach (var blob in blobs.ListZipsAsync(cancellationToken))
        {
            if (await loads.FindLoadAsync(blob.Version, cancellationToken) is not null
                || await register.WasRemovedAsync(blob.Version, cancellationToken))
            {
                continue;
            }
            var load = await starts.RunAsync(blob.Version, Because, cancellationToken);
            await messages.SendLoadMessageAsync(new IngestMessage { Load = load.Id }, TimeSpan.Zero, cancellationToken);
            started++;
        }
        foreach (var load in await loads.ListLoadsAsync(null, cancellationToken))
        {
            if (load.State is not (LoadState.Done or LoadState.Failed or LoadState.Held))
                await register.MarkOpenAsync(load.Id, cancellationToken);
        }
        // Last: until here a start is refused, so that nothing is forgotten where this was broken off.
        await database.MoveOnAsync(confirmed, Because, cancellationToken);
        await register.SetMovingOnAsync(false, cancellationToken);
        await change.TryPublishAsync(cancellationToken);
        return (confirmed, started);
    }
}
