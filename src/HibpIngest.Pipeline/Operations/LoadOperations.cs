using HibpIngest.Breaches;
using HibpIngest.Errors;
using HibpIngest.Stores;

namespace HibpIngest.Pipeline;

/// <summary>What an operator can have done to loads.</summary>
public sealed class LoadOperations(
    ILoads loads, ISlices slices, IRows rows, BreachLoads breachLoads, IStoreRegister register, IBreachBlobs blobs,
    ArchivePasswords passwords,
    PublishCatalogue catalogue, UpsertCompletion upsert, MailSchedule mails, LogSchedule log, TellLog tell, VerifyLog verify,
    PipelineMessages messages, IOptions<IngestOptions> options)
{
    // Small enough that a purge never holds a transaction for long.
    private const int PurgeChunkRows = 50_000;

    /// <summary>
    /// Sends slices of a breach again: one of its newest load, or the failed ones, or all, of every load that
    /// isn't purged, or is in the account log. Returns how many.
    /// </summary>
    /// <exception cref="NotPossibleException">No such breach or slice, or its rows are purged.</exception>
    public async Task<int> RequeueSlicesAsync(string breach, int? slice, bool failedOnly, CancellationToken cancellationToken)
    {
        var found = await breachLoads.ListAsync(breach, cancellationToken);
        var chosen = slice is null
            ? [.. found.Where(IsRequeued)] : (IReadOnlyList<Load>)[found[^1]];
        if (chosen.Count == 0)
        {
            throw new NotPossibleException(
                $"the rows of all loads of {breach} are purged, and none is in the account log: drop the archive again to load it anew");
        }
        var sent = 0;
        foreach (var load in chosen)
        {
            // Before and after: a crash in between leaves a mark that Sweep follows.
            await register.MarkOpenAsync(load.Id, cancellationToken);
            var requeued = await slices.RequeueSlicesAsync(load.Id, slice, failedOnly, cancellationToken);
            if (requeued.Count == 0)
                continue;
            if (load.State == LoadState.Failed && (await loads.GetLoadAsync(load.Id, CancellationToken.None))?.Slices.Failed > 0)
            {
                // Others still have to be requeued.
                await loads.FailLoadAsync(
                    load.Id, owner: null, load.Error ?? "another slice has failed", superseded: false, CancellationToken.None);
            }
            await register.MarkOpenAsync(load.Id, cancellationToken);
            await messages.SendSlicesAsync(requeued, cancellationToken);
            sent += requeued.Count;
        }
        return sent;
    }

    /// <summary>
    /// Carries on with a failed load; with <paramref name="restart"/> as a new load with today's settings.
    /// Returns the load that goes on.
    /// </summary>
    /// <exception cref="NotPossibleException">No such load, or it isn't failed, or its rows are purged.</exception>
    public async Task<Load> ResumeAsync(long load, bool restart, string? password, CancellationToken cancellationToken)
    {
        var found = await GetAsync(load, cancellationToken);
        if (password is not null)
            await passwords.KeepAsync(found.Blob, password, cancellationToken);
        if (restart)
        {
            var id = await register.DrawLoadAsync(cancellationToken);
            var fresh = await loads.RestartLoadAsync(load, id, LoadStart.NewSettings(options.Value), cancellationToken);
            await register.ConfirmAsync(new StoreIds(fresh.Id, 0), cancellationToken);
            await register.MarkOpenAsync(fresh.Id, cancellationToken);
            await messages.SendLoadMessageAsync(new IngestMessage { Load = fresh.Id }, TimeSpan.Zero, cancellationToken);
            return fresh;
        }
        // One that nobody ingests may have lost its message: a restart whose answer, or whose process, was lost.
        if (found.State != LoadState.Failed && !(found.State == LoadState.Ingesting && found.LeaseExpiresAt is null))
            throw new NotPossibleException($"load {load} is {found.State.ToString().ToLowerInvariant()}, only a failed load is resumed");
        await register.MarkOpenAsync(load, cancellationToken);
        var state = await loads.ResumeLoadAsync(load, cancellationToken);
        await register.MarkOpenAsync(load, cancellationToken);
        switch (state)
        {
            case LoadState.Ingesting:
                await messages.SendLoadMessageAsync(new IngestMessage { Load = load }, TimeSpan.Zero, cancellationToken);
                break;
            case LoadState.Matching:
                await messages.SendLoadMessageAsync(new MatchMessage { Load = load }, TimeSpan.Zero, cancellationToken);
                break;
            case LoadState.Notifying:
                await mails.SendNextAsync(load, cancellationToken);
                break;
        }
        var pending = (await slices.ListSlicesAsync(load, failedOnly: false, cancellationToken)).Where(
            slice => slice.State == SliceState.Pending);
        await messages.SendSlicesAsync([.. pending], cancellationToken);
        if (state == LoadState.Upserting)
            await upsert.TryAsync(load, cancellationToken);
        return await loads.GetLoadAsync(load, cancellationToken) ?? found;
    }

    /// <summary>
    /// Gives a load to another breach than its blob's name says, with what its metadata says of that one.
    /// Returns the load.
    /// </summary>
    /// <exception cref="BadInputException">The breach's name holds what it may not.</exception>
    /// <exception cref="NotPossibleException">No such load, or it is still open.</exception>
    /// <exception cref="CatalogueBehindException">It is done, but readers don't see it yet.</exception>
    /// <exception cref="LogBehindException">It is done, but the account log doesn't tell it yet.</exception>
    public async Task<Load> AssignAsync(long load, string breach, CancellationToken cancellationToken)
    {
        BreachName.Check(breach);
        var found = await GetAsync(load, cancellationToken);
        // Read first: a document that can't be read leaves everything as it is.
        var document = (await BreachDocument.ReadAsync(blobs, found.Blob.Name, breach, cancellationToken)).Document;
        await register.MarkOpenAsync(load, cancellationToken);
        await log.OpenAsync(breach, cancellationToken);
        var change = await catalogue.BeginChangeAsync(cancellationToken);
        try
        {
            await loads.AssignLoadAsync(load, breach, document, cancellationToken);
        }
        catch (HibpException e) when (e is NotPossibleException or BadInputException)
        {
            await change.AbandonAsync(cancellationToken);
            throw;
        }
        await tell.PublishAsync(change, breach, $"load {load} is of {breach}", $"readers see it as of {found.Breach}", cancellationToken);
        return await loads.GetLoadAsync(load, cancellationToken) ?? found;
    }

    /// <summary>
    /// Takes the rows of a finished load away, in chunks, once what the account log has of it has been read back. Returns how
    /// many. One that doesn't count (failed, or replaced) is never to be logged.
    /// </summary>
    /// <param name="withoutLog">There is no account log: nothing is left but the archive.</param>
    /// <param name="progress">Told of the rows that are gone.</param>
    /// <param name="cancellationToken">Ends it between two chunks.</param>
    /// <exception cref="NotPossibleException">No such load, or it is still open, or not logged.</exception>
    /// <exception cref="HibpException">The log has something else, or is damaged: nothing is purged.</exception>
    public async Task<long> PurgeAsync(long load, bool withoutLog, IProgress<long>? progress, CancellationToken cancellationToken)
    {
        var found = await GetAsync(load, cancellationToken);
        if (log.IsOn && withoutLog)
        {
            throw new NotPossibleException("the account log is on: what is purged has to be in it, and --without-log is for a store that "
                + "has none (HIBP_LOG=off)");
        }
        if (!log.IsOn && !withoutLog)
        {
            throw new NotPossibleException($"the account log is off (HIBP_LOG=off), so that nothing but its archive is left of load {load} "
                + "once its rows are gone; where that is meant: hibp purge --without-log");
        }
        if (found.State is not (LoadState.Done or LoadState.Failed))
        {
            throw new NotPossibleException(
                $"load {load} is {found.State.ToString().ToLowerInvariant()}: only a load that is done, or failed, is purged");
        }
        if (found is { AwaitsCalls: true, Calls.IsLookedThrough: false })
        {
            throw new NotPossibleException(
                $"clients are yet to be called of load {load}, and its rows are looked through for that: see hibp status {found.Breach}");
        }
        if (log.IsOn && found is { PublishedAt: not null, Purged: false })
            await verify.RunAsync(load, null, cancellationToken);
        var purged = 0L;
        while (await rows.PurgeRowsAsync(load, PurgeChunkRows, cancellationToken, log.IsOn) is > 0 and var chunk)
        {
            purged += chunk;
            progress?.Report(purged);
        }
        return purged;
    }

    /// <summary>Its rows are there, or in the log; those of a purged one that is in some other state stay as they are.</summary>
    private static bool IsRequeued(Load load) => !load.Purged
        || (load.LoggedVersion is not null && load.State is LoadState.Done or LoadState.Upserting or LoadState.Failed);

    private async Task<Load> GetAsync(long load, CancellationToken cancellationToken) =>
        await loads.GetLoadAsync(load, cancellationToken) ?? throw new NotPossibleException($"there is no load {load}; see: hibp status");
}
