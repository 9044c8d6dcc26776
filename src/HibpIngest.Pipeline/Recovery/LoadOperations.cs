using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Mail;
using HibpIngest.Pipeline.Upsert;

namespace HibpIngest.Pipeline.Recovery;

public sealed class LoadOperations(
    ILoads loads, ISlices slices, ILoadRows rows, BreachLoads breachLoads, IStoreRegister register, IBreachBlobs blobs,
    ArchivePasswords passwords, PublishCatalogue catalogue, UpsertCompletion upsert, MailSchedule mails, JournalSchedule log,
    JournalChanges changes, VerifyJournal verify, PipelineMessages messages, IOptions<IngestOptions> options)
{
    // Small enough that a purge's transactions are short.
    private const int PurgeChunkRows = 50_000;

    /// <summary>Sends slices again: one of the newest load, or all or failed ones of all loads with rows. Returns their number.</summary>
    /// <exception cref="NotPossibleException">There is no such breach or slice, or its rows are purged.</exception>
    public async Task<int> RequeueSlicesAsync(string breach, int? slice, bool failedOnly, CancellationToken cancellationToken)
    {
        var found = await breachLoads.ListAsync(breach, cancellationToken);
        var chosen = slice is null ? [.. found.Where(IsRequeued)] : (IReadOnlyList<Load>)[found[^1]];
        if (chosen.Count == 0)
        {
            throw new NotPossibleException(
                $"the rows of all loads of {breach} are purged, and none is in the account log: drop the archive again");
        }
        var sent = 0;
        foreach (var load in chosen)
        {
            // Marked before and after: after a crash in between, Sweep follows the mark.
            await register.MarkOpenAsync(load.Id, cancellationToken);
            var requeued = await slices.RequeueSlicesAsync(load.Id, slice, failedOnly, cancellationToken);
            if (requeued.Count == 0)
                continue;
            if (load.State == LoadState.Failed && (await loads.GetLoadAsync(load.Id, CancellationToken.None))?.Slices.Failed > 0)
            {
                // Other failed slices still have to be requeued.
                await loads.FailLoadAsync(
                    load.Id, owner: null, load.Error ?? "another slice has failed", superseded: false, CancellationToken.None);
            }
            await register.MarkOpenAsync(load.Id, cancellationToken);
            await messages.SendSlicesAsync(requeued, cancellationToken);
            sent += requeued.Count;
        }
        return sent;
    }

    /// <summary>Resumes a failed load, or restarts it as a new one with the current settings. Returns the load that continues.</summary>
    /// <exception cref="NotPossibleException">There is no such load, it isn't failed, or its rows are purged.</exception>
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
        // A load without an ingester may have lost its message: after a restart whose response, or whose process, was lost.
        if (found.State != LoadState.Failed && !(found.State == LoadState.Ingesting && found.LeaseExpiresAt is null))
            throw new NotPossibleException($"load {load} is {found.State.ToString().ToLowerInvariant()}: only failed loads can be resumed");
        await register.MarkOpenAsync(load, cancellationToken);
        var state = await loads.ResumeLoadAsync(load, cancellationToken);
        await register.MarkOpenAsync(load, cancellationToken);
        if (state == LoadState.Ingesting)
            await messages.SendLoadMessageAsync(new IngestMessage { Load = load }, TimeSpan.Zero, cancellationToken);
        else if (state == LoadState.Matching)
            await messages.SendLoadMessageAsync(new MatchMessage { Load = load }, TimeSpan.Zero, cancellationToken);
        else if (state == LoadState.Notifying)
            await mails.SendNextAsync(load, cancellationToken);
        var all = await slices.ListSlicesAsync(load, failedOnly: false, cancellationToken);
        await messages.SendSlicesAsync([.. all.Where(slice => slice.State == SliceState.Pending)], cancellationToken);
        if (state == LoadState.Upserting)
            await upsert.TryAsync(load, cancellationToken);
        return await loads.GetLoadAsync(load, cancellationToken) ?? found;
    }

    /// <summary>Assigns a load to another breach than its blob's name says, with the metadata for that breach.</summary>
    /// <exception cref="BadInputException">The breach's name is invalid.</exception>
    /// <exception cref="NotPossibleException">There is no such load, or it is still open.</exception>
    public async Task<Load> AssignAsync(long load, string breach, CancellationToken cancellationToken)
    {
        BreachName.Check(breach);
        var found = await GetAsync(load, cancellationToken);
        // Read first: if the document can't be read, nothing is changed.
        var document = (await MetadataFile.ReadAsync(blobs, found.Blob.Name, breach, cancellationToken)).Document;
        await register.MarkOpenAsync(load, cancellationToken);
        await log.OpenAsync(breach, cancellationToken);
        var change = await catalogue.ChangeAsync(
            () => loads.AssignLoadAsync(load, breach, document, cancellationToken), cancellationToken);
        await changes.PublishAsync(
            change, breach, $"load {load} is of {breach}", $"readers see it as of {found.Breach}", cancellationToken);
        return await loads.GetLoadAsync(load, cancellationToken) ?? found;
    }

    /// <summary>Deletes a finished load's rows in chunks, after verifying its journal if the load counts. Returns their number.</summary>
    /// <param name="withoutLog">Confirms that there is no journal, so that only the archive is left.</param>
    /// <exception cref="NotPossibleException">There is no such load, it is still open, or it isn't journaled.</exception>
    /// <exception cref="HibpException">The journal is damaged or doesn't match: nothing is purged.</exception>
    public async Task<long> PurgeAsync(long load, bool withoutLog, IProgress<long>? progress, CancellationToken cancellationToken)
    {
        var found = await GetAsync(load, cancellationToken);
        if (log.IsOn && withoutLog)
        {
            throw new NotPossibleException("the account log is on: purged rows must be in it, and --without-log is for a store that "
                + "has none (HIBP_JOURNAL=off)");
        }
        if (!log.IsOn && !withoutLog)
        {
            throw new NotPossibleException(
                $"the account log is off (HIBP_JOURNAL=off), so only its archive is left of load {load} "
                + "once its rows are deleted; if that is intended, run: hibp database purge --without-log");
        }
        if (found.State is not (LoadState.Done or LoadState.Failed))
        {
            throw new NotPossibleException(
                $"load {load} is {found.State.ToString().ToLowerInvariant()}: only a done or failed load can be purged");
        }
        if (found is { AwaitsCalls: true, Calls.IsLookedThrough: false })
        {
            throw new NotPossibleException(
                $"the rows of load {load} are still needed to find the clients to call: see hibp status {found.Breach}");
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

    /// <summary>Whether its rows are in SQL, or in the journal and the load in a state that can be requeued from there.</summary>
    private static bool IsRequeued(Load load) => !load.Purged
        || (load.LoggedVersion is not null && load.State is LoadState.Done or LoadState.Upserting or LoadState.Failed);

    private async Task<Load> GetAsync(long load, CancellationToken cancellationToken) =>
        await loads.GetLoadAsync(load, cancellationToken) ?? throw new NotPossibleException($"there is no load {load}; see: hibp status");
}
