using HibpIngest.Pipeline.Catalogue;
using HibpIngest.Pipeline.Ingest;
using HibpIngest.Pipeline.Journal;
using HibpIngest.Pipeline.Setup;
using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Pipeline.Recovery;

/// <summary>Brings a database that was restored from a backup, or is empty, up to date with register, journal and catalogue.</summary>
public sealed class ReconcileRestoredDatabase(
    IDatabaseState database, ILoads loads, ILayouts layouts, IStoreRegister register, IBreachBlobs blobs, IJournalBlobs log,
    StoreSetup setup, LoadStart starts, RecoverLoads recover, PublishCatalogue catalogue, PipelineMessages messages,
    ApplySuppressions suppressions, JournalSchedule schedule)
{
    private const string Because =
        "the database was restored from a backup, and its mails may have gone out since: hibp mail release sends it";

    /// <summary>
    /// Moves a restored database on; no host may be running. Mails that were not sent at the backup are held, the journal's loads are
    /// restored, the catalogue published since is merged in, and zips without a load are loaded again, neither published nor mailed until
    /// an operator releases them. Can be run again after an interruption, or after a repair of the journal.
    /// </summary>
    /// <param name="empty">The database is empty, and becomes that of the journal's store.</param>
    /// <exception cref="NotPossibleException">The database isn't behind and has no mails left, or is unexpectedly (not) empty.</exception>
    /// <exception cref="StoreMismatchException">Journal, database and account table are not of one store.</exception>
    public async Task<ReconciledDatabase> RunAsync(
        CancellationToken cancellationToken, bool empty = false, IProgress<(int Done, int All)>? progress = null)
    {
        if (!empty && await StoreSetup.HasSchemaAsync(database, cancellationToken))
            await suppressions.CheckKeyAsync(cancellationToken);
        var logged = schedule.IsOn ? await JournalManifest.ReadAsync(log, cancellationToken, tolerant: true) : null;
        if (empty)
            await TakeOverAsync(logged, cancellationToken);
        else if (!await StoreSetup.HasSchemaAsync(database, cancellationToken))
        {
            throw new NotPossibleException($"database {database.DisplayName} does not exist, or is empty: there is nothing to bring up to "
                + "date; if it was lost, and the account log was not, run: hibp database restored --empty");
        }
        await setup.EnsureIdentityAsync(cancellationToken);
        var store = (await database.GetIdentityAsync(cancellationToken))!.Id;
        var plan = logged is null ? null : RecoveryPlan.Of(logged, store);
        var (confirmed, isIncomplete) = await register.GetConfirmedAsync(cancellationToken);
        var highest = await database.GetHighestIdsAsync(cancellationToken);
        var isBehind = isIncomplete || highest.Load < confirmed.Load || highest.Mark < confirmed.Mark;
        // Before anything is sent or refused: the backup contains addresses that were forgotten since.
        var suppressed = await suppressions.RunAsync(cancellationToken);
        // The backup may be newer than the last load: mails not sent at the backup can't be distinguished from mails sent since.
        var mayMail = (await loads.ListLoadsAsync(null, cancellationToken))
            .Any(load => load.State != LoadState.Done && load.HeldBecause is null);
        var isShownOlder = await catalogue.Merge.IsNewerAsync(cancellationToken);
        if (!isBehind && !isShownOlder && suppressed == 0 && !mayMail
            && (plan is null || !await recover.IsNeededAsync(plan, cancellationToken)))
        {
            string[] why = [$"database {database.DisplayName} is not behind its account table: there is nothing to bring up to date"];
            throw new NotPossibleException(string.Join("; ", [.. why, .. plan?.Problems ?? []]));
        }
        // First: a host that is started meanwhile must not send mails, nor take a partial state for complete.
        await register.SetMovingOnAsync(true, cancellationToken);
        // Before anything raises the database's version, which decides whether the catalogue is newer.
        var readers = await catalogue.Merge.KeepAsync(cancellationToken);
        var hidden = new SortedSet<string>(StringComparer.OrdinalIgnoreCase);
        await database.MoveOnAsync(new StoreIds(0, 0), Because, cancellationToken);
        // Marked, because the published catalogue differs from the backup.
        var change = await catalogue.BeginChangeAsync(cancellationToken);
        var recovered = await RecoverAsync(plan, isBehind, progress, MergeAsync, cancellationToken);
        var started = await StartZipsAsync(cancellationToken);
        await MergeAsync(cancellationToken);
        var restored = await loads.ListLoadsAsync(null, cancellationToken);
        foreach (var load in restored)
        {
            if (load.State is not (LoadState.Done or LoadState.Failed or LoadState.Held) || load.WaitsForLog || load.AwaitsCalls)
                await register.MarkOpenAsync(load.Id, cancellationToken);
        }
        // Last: until here a start is refused, so that an interruption can't go unnoticed.
        await database.MoveOnAsync(confirmed, Because, cancellationToken);
        await catalogue.Merge.ForgetAsync(cancellationToken);
        await register.SetMovingOnAsync(false, cancellationToken);
        await change.TryPublishAsync(cancellationToken);
        // The database counts messages from before the backup as in transit: Sweep would wait for them for SweepStaleAge.
        foreach (var load in restored.Where(load => load.WaitsForLog))
            await schedule.SendAsync(load.Id, cancellationToken);
        return new ReconciledDatabase(confirmed, started)
        {
            Log = plan is null && recovered is { Removed.Count: 0, Problems.Count: 0 } ? null : recovered,
            Hidden = [.. hidden.Except(recovered.Removed, StringComparer.OrdinalIgnoreCase)],
            Suppressed = suppressed,
            Missing = await register.GetReadLayoutAsync(cancellationToken) is { } read
                ? await layouts.CountMissingAsync(read.Id, cancellationToken) : 0,
        };

        async Task MergeAsync(CancellationToken token)
        {
            if (readers is not null)
                hidden.UnionWith(await catalogue.Merge.RunAsync(readers, token));
        }
    }

    /// <summary>Gives the journal's identity to an empty database and, if they are lost too, to the tables and the register.</summary>
    private async Task TakeOverAsync(JournalManifest? logged, CancellationToken cancellationToken)
    {
        if (logged is null)
            throw new NotPossibleException("an empty database is recovered from the account log, which is off: set HIBP_JOURNAL=on");
        var plan = RecoveryPlan.Of(logged, null);
        if (plan.Stores.Count == 0)
        {
            throw new NotPossibleException("the account log has no load: there is nothing to recover an empty database from; name the "
                + "right log in HIBP_JOURNAL_STORAGE or HIBP_STORAGE");
        }
        if (plan.Stores.Count > 1)
        {
            throw new StoreMismatchException($"the account log has loads of {plan.Stores.Count} stores "
                + $"({string.Join(", ", plan.Stores.Order())}): move away the folders of the other stores");
        }
        var store = plan.Stores.Single();
        await StoreSetup.EnsureSchemaAsync(database, cancellationToken);
        if (await database.GetIdentityAsync(cancellationToken) is { } inDatabase && inDatabase.Id != store)
        {
            throw new StoreMismatchException($"database {database.DisplayName} belongs to store {inDatabase.Id}, and the account log to "
                + $"store {store}: name an empty database in HIBP_DATABASE");
        }
        await setup.CreateStoresAsync(cancellationToken);
        var inTable = await register.GetIdentityAsync(cancellationToken);
        if (inTable is not null && inTable.Id != store)
        {
            throw new StoreMismatchException($"the account table belongs to store {inTable.Id}, and the account log to store {store}: use "
                + "those that belong together, or a fresh storage account");
        }
        var (confirmed, isIncomplete) = await register.GetConfirmedAsync(cancellationToken);
        if (!isIncomplete && await database.HasLoadsAsync(cancellationToken))
        {
            throw new NotPossibleException(
                $"database {database.DisplayName} is not empty: if it was restored from a backup, run: hibp database restored");
        }
        // If the following steps are interrupted, the store must not be taken for complete.
        await register.SetMovingOnAsync(true, cancellationToken);
        var ids = new StoreIds(Math.Max(plan.Highest.Load, confirmed.Load), Math.Max(plan.Highest.Mark, confirmed.Mark));
        var identity = await register.AddIdentityAsync(new StoreIdentity(store, PartitionSpread: 1, StorageAccounts: 1), cancellationToken);
        await database.MoveOnAsync(ids, Because, cancellationToken);
        await database.AddIdentityAsync(identity, cancellationToken);
        await setup.EnsureIdentityAsync(cancellationToken);
        await register.ConfirmAsync(ids, cancellationToken);
    }

    private async Task<JournalRecovered> RecoverAsync(
        RecoveryPlan? plan, bool isBehind, IProgress<(int Done, int All)>? progress, Func<CancellationToken, Task> beforePublishing,
        CancellationToken cancellationToken)
    {
        if (plan is null)
            return await recover.RunAsync(RecoveryPlan.Empty, [], progress, beforePublishing, cancellationToken);
        var registered = await register.ListLayoutsAsync(cancellationToken);
        if (registered.Count == 0)
        {
            // The tables were lost, and are created after this: if interrupted before, it is known that they are empty. Ranges begin as
            // off, because marks have been assigned.
            var recovered = await recover.RunAsync(plan, [], progress, beforePublishing, cancellationToken);
            await setup.EnsureLayoutsAsync(cancellationToken);
            return recovered;
        }
        await setup.EnsureLayoutsAsync(cancellationToken);
        // Not behind means a later repair of the journal: it isn't known in which layouts the loads restored now were written.
        var complete = isBehind ? await FindCompleteAsync(registered, cancellationToken) : [];
        return await recover.RunAsync(plan, complete, progress, beforePublishing, cancellationToken);
    }

    /// <summary>Returns the layouts known to have every account: the first one, unless it lacks rows, and the one that is read.</summary>
    private async Task<IReadOnlyList<int>> FindCompleteAsync(IReadOnlyList<StoreLayout> registered, CancellationToken cancellationToken)
    {
        var read = (await register.GetReadLayoutAsync(cancellationToken))?.Id;
        var complete = new List<int>();
        foreach (var layout in registered.Where(layout => !layout.IsDropped))
        {
            var isFirst = layout.Id == StoreLayout.First.Id;
            // If it was recreated from the journal before and not backfilled since, it lacks rows, and the loads record that.
            if (isFirst ? await layouts.CountMissingAsync(layout.Id, cancellationToken) == 0 : layout.Id == read)
                complete.Add(layout.Id);
        }
        return complete;
    }

    /// <summary>Starts zips without a load, which were dropped after the backup and never published.</summary>
    private async Task<int> StartZipsAsync(CancellationToken cancellationToken)
    {
        var started = 0;
        await foreach (var blob in blobs.ListDropsAsync(cancellationToken))
        {
            if (await loads.FindLoadAsync(blob.Version, cancellationToken) is not null
                || await register.WasRemovedAsync(blob.Version, cancellationToken))
            {
                continue;
            }
            var load = await starts.RunAsync(blob.Version, HoldReason.NotPublished + Because, cancellationToken);
            await messages.SendLoadMessageAsync(new IngestMessage { Load = load.Id }, TimeSpan.Zero, cancellationToken);
            started++;
        }
        return started;
    }
}

public sealed record ReconciledDatabase(StoreIds Ids, int Loads)
{
    /// <summary>The part restored from the journal; null: there is no journal.</summary>
    public JournalRecovered? Log { get; init; }

    /// <summary>Breaches that are hidden because readers were not shown them before the restore.</summary>
    public IReadOnlyList<string> Hidden { get; init; } = [];

    /// <summary>Number of suppressions that the backup lacked and that were applied.</summary>
    public int Suppressed { get; init; }

    /// <summary>Rows that the layout that is read lacks; those of the journal if the tables were lost too.</summary>
    public long Missing { get; init; }
}
