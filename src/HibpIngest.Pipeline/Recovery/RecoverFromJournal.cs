namespace HibpIngest.Pipeline.Recovery;

/// <summary>Brings back what the journal has and a restored or empty database lacks.</summary>
public sealed class RecoverFromJournal(
    IBreachDatabase database, IStoreRegister register, IJournalBlobs blobs, StoreSetup setup, RecoverLoads recover,
    JournalSchedule schedule)
{
    /// <returns>Null if the journal is off.</returns>
    internal async Task<JournalManifest?> ReadAsync(CancellationToken cancellationToken) =>
        schedule.IsOn ? await JournalManifest.ReadAsync(blobs, cancellationToken, tolerant: true) : null;

    internal Task<bool> IsNeededAsync(RecoveryPlan plan, CancellationToken cancellationToken) =>
        recover.IsNeededAsync(plan, cancellationToken);

    public Task SendAsync(LoadId load, CancellationToken cancellationToken) => schedule.SendAsync(load, cancellationToken);

    /// <summary>Gives the journal's identity to an empty database and, if they are lost too, to the tables and the register.</summary>
    internal async Task TakeOverAsync(JournalManifest? logged, CancellationToken cancellationToken)
    {
        if (logged is null)
            throw new NotPossibleException("an empty database is recovered from the journal, which is off: set HIBP_JOURNAL=on");
        var plan = RecoveryPlan.Of(logged, null);
        if (plan.Stores.Count == 0)
        {
            throw new NotPossibleException("the journal has no load: there is nothing to recover an empty database from; set "
                + "HIBP_JOURNAL_STORAGE or HIBP_STORAGE to the right journal");
        }
        if (plan.Stores.Count > 1)
        {
            throw new StoreMismatchException($"the journal has loads of {plan.Stores.Count} stores "
                + $"({string.Join(", ", plan.Stores.Order())}), expected one: move the folders of the other stores out of it (the "
                + "documents in a folder name its store)");
        }
        var store = plan.Stores.Single();
        await StoreSetup.EnsureSchemaAsync(database, cancellationToken);
        if (await database.GetIdentityAsync(cancellationToken) is { } inDatabase && inDatabase.Id != store)
        {
            throw new StoreMismatchException($"database {database.DisplayName} belongs to store {inDatabase.Id}, and the journal to "
                + $"store {store}: name an empty database in HIBP_DATABASE");
        }
        await setup.CreateStoresAsync(cancellationToken);
        var inTable = await register.GetIdentityAsync(cancellationToken);
        if (inTable is not null && inTable.Id != store)
        {
            throw new StoreMismatchException($"the account table belongs to store {inTable.Id}, and the journal to store {store}: use "
                + "a journal and an account table of one store, or a fresh storage account");
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
        await database.MoveOnAsync(ids, ReconcileRestoredDatabase.Because, cancellationToken);
        await database.AddIdentityAsync(identity, cancellationToken);
        await setup.EnsureIdentityAsync(cancellationToken);
        await register.ConfirmAsync(ids, cancellationToken);
    }

    internal async Task<JournalRecovered> RecoverAsync(
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
            if (isFirst ? await database.CountMissingAsync(layout.Id, cancellationToken) == 0 : layout.Id == read)
                complete.Add(layout.Id);
        }
        return complete;
    }
}
