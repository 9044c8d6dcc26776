using HibpIngest.Pipeline.Subscribers;

namespace HibpIngest.Pipeline.Setup;

/// <summary>Creates missing stores, and checks that all belong together, before anything else uses them.</summary>
public sealed class StoreSetup(
    IDatabaseState database, IStoreRegister register, IStorageAccounts accounts, StoreContainers containers, StoreLayouts layouts,
    PublishCatalogue catalogue, ApplySuppressions suppressions)
{
    private RunOnce? _once;

    public bool IsDone => _once?.IsDone == true;

    /// <summary>Runs EnsureAsync until it has succeeded once, for a host that must not end because a store is unavailable.</summary>
    public Task EnsureOnceAsync(CancellationToken cancellationToken) =>
        LazyInitializer.EnsureInitialized(ref _once, () => new RunOnce(EnsureAsync)).EnsureAsync(cancellationToken);

    /// <summary>Returns whether, according to the register, nothing needs the database, so that a serverless one may stay paused.</summary>
    public async Task<bool> IsAtRestAsync(CancellationToken cancellationToken)
    {
        try
        {
            return await register.GetIdentityAsync(cancellationToken) is not null
                && (await register.ListOpenAsync(cancellationToken)).Count == 0
                && (await register.ListStaleMarksAsync(cancellationToken)).Count == 0;
        }
        catch (StoreRefusedException)
        {
            return false; // no register yet, or another problem that the set-up reports
        }
    }

    /// <summary>
    /// Creates missing containers, queues and tables, sets up a fresh database, records or compares the store identity, applies
    /// suppressions that the database lacks, and publishes a catalogue if there is none.
    /// </summary>
    /// <exception cref="StoreMismatchException">Database and table don't belong together, the schema is not this program's, or
    /// HIBP_SUPPRESSION_KEY isn't the one that was used.</exception>
    public async Task EnsureAsync(CancellationToken cancellationToken)
    {
        await EnsureSchemaAsync(database, cancellationToken);
        await CreateStoresAsync(cancellationToken);
        await EnsureIdentityAsync(cancellationToken);
        await EnsureIdsAsync(cancellationToken);
        await suppressions.RunAsync(cancellationToken);
        await EnsureLayoutsAsync(cancellationToken);
        await catalogue.EnsureAsync(cancellationToken);
    }

    internal Task CreateStoresAsync(CancellationToken cancellationToken) => containers.CreateAsync(cancellationToken);

    internal Task EnsureLayoutsAsync(CancellationToken cancellationToken) => layouts.EnsureAsync(cancellationToken);

    /// <summary>Returns whether the stores are set up, and checks that they belong together. Creates nothing.</summary>
    public async Task<bool> CheckAsync(CancellationToken cancellationToken)
    {
        // Both are read in the opposite order of the writes: a concurrent set-up is seen as not begun, or as a database without a load.
        var inTable = await FindIdentityAsync(cancellationToken);
        var inDatabase = await HasSchemaAsync(database, cancellationToken) ? await database.GetIdentityAsync(cancellationToken) : null;
        await RequireMatchAsync(inDatabase, inTable, cancellationToken);
        if (inTable is null)
            return false; // a set-up that was interrupted, or is running
        await RequireAccountsAsync(inTable, cancellationToken);
        await RequireIdsAsync(cancellationToken);
        return true;
    }

    /// <returns>False if the database doesn't exist or is empty.</returns>
    /// <exception cref="StoreMismatchException">It has the schema of another version.</exception>
    public static async Task<bool> HasSchemaAsync(IDatabaseState database, CancellationToken cancellationToken)
    {
        var (found, expected) = await database.GetSchemaVersionAsync(cancellationToken);
        if (found > expected)
            throw new StoreMismatchException(
                $"database {database.DisplayName} has schema {found}, newer than this program's {expected}: use the newer program");
        if (found > 0 && found < expected)
            throw new StoreMismatchException(
                $"database {database.DisplayName} has schema {found}, this program needs {expected}: run 'hibp database upgrade'");
        return found > 0;
    }

    public static async Task EnsureSchemaAsync(IDatabaseState database, CancellationToken cancellationToken)
    {
        if (!await HasSchemaAsync(database, cancellationToken))
            await database.UpgradeAsync(cancellationToken);
    }

    internal async Task EnsureIdsAsync(CancellationToken cancellationToken) =>
        await register.ConfirmAsync(await RequireIdsAsync(cancellationToken), cancellationToken);

    // Checks that the database has the confirmed ids. If it lacks some it was restored from a backup, and would reuse marks that belong to
    // others in the table. The confirmed ids are read first: they are never ahead of the database.
    private async Task<StoreIds> RequireIdsAsync(CancellationToken cancellationToken)
    {
        var (confirmed, isIncomplete) = await register.GetConfirmedAsync(cancellationToken);
        if (isIncomplete)
        {
            throw new StoreMismatchException($"database {database.DisplayName} was restored from a backup, and bringing it up to date was "
                + "interrupted: stop every host, then run 'hibp database restored' again");
        }
        var highest = await database.GetHighestIdsAsync(cancellationToken);
        if (highest.Load < confirmed.Load || highest.Mark < confirmed.Mark)
        {
            throw new StoreMismatchException($"database {database.DisplayName} was restored from a backup: it knows loads up to "
                + $"{highest.Load} and marks up to {highest.Mark}, the account table has loads up to {confirmed.Load} and marks up to "
                + $"{confirmed.Mark}; stop every host, then run 'hibp database restored', which brings the database up to date");
        }
        return highest;
    }

    /// <summary>Doesn't check whether the database is behind.</summary>
    internal async Task EnsureIdentityAsync(CancellationToken cancellationToken)
    {
        var inDatabase = await database.GetIdentityAsync(cancellationToken);
        var inTable = await register.GetIdentityAsync(cancellationToken);
        await RequireMatchAsync(inDatabase, inTable, cancellationToken);
        inDatabase ??= await database.AddIdentityAsync(
            new StoreIdentity(Guid.NewGuid(), PartitionSpread: 1, StorageAccounts: 1), cancellationToken);
        inTable ??= await register.AddIdentityAsync(inDatabase, cancellationToken);
        await RequireMatchAsync(inDatabase, inTable, cancellationToken); // another process may have added one of them first
        foreach (var number in await RequireAccountsAsync(inTable, cancellationToken))
            await accounts.PutAsync(new StorageAccountIdentity(inTable.Id, number, accounts.Count), cancellationToken);
    }

    // Checks the order of the storage accounts, and that none is omitted: otherwise email addresses would be looked up in the wrong one.
    // Returns the numbers of those that have no identity yet, or a smaller count.
    private async Task<IReadOnlyList<int>> RequireAccountsAsync(StoreIdentity store, CancellationToken cancellationToken)
    {
        const string Order = "list the store's storage accounts in their original order in HIBP_STORAGE, HIBP_STORAGE_2, and so on";
        var outdated = new List<int>();
        for (var number = 1; number <= accounts.Count; number++)
        {
            if (await accounts.FindAsync(number, cancellationToken) is not { } found)
            {
                outdated.Add(number);
                continue;
            }
            if (found.Store != store.Id)
            {
                throw new StoreMismatchException($"storage account {number} belongs to another store ({found.Store}) than the first "
                    + $"({store.Id}): {Order}");
            }
            if (found.Number != number)
            {
                throw new StoreMismatchException(
                    $"storage account {number} in the settings was set up as account {found.Number} of this store: {Order}");
            }
            if (found.Of > accounts.Count)
            {
                throw new StoreMismatchException(
                    $"the store has {found.Of} storage accounts, and this process knows {accounts.Count}: {Order}");
            }
            if (found.Of < accounts.Count)
                outdated.Add(number);
        }
        return outdated;
    }

    private async Task<StoreIdentity?> FindIdentityAsync(CancellationToken cancellationToken)
    {
        try
        {
            return await register.GetIdentityAsync(cancellationToken);
        }
        catch (StoreMissingException)
        {
            return null;
        }
    }

    private async Task RequireMatchAsync(StoreIdentity? inDatabase, StoreIdentity? inTable, CancellationToken cancellationToken)
    {
        // The database's identity is written first, so an identity that only the table has belongs to another database.
        if (inDatabase is null && inTable is not null)
        {
            throw new StoreMismatchException($"database {database.DisplayName} is empty, but the account table belongs to another "
                + "database, and new marks would be read as existing breaches. Use that database, or another storage account. If that "
                + "database is lost, recover it from the journal: hibp database restored --empty");
        }
        if (inTable is null && inDatabase is not null && await database.HasLoadsAsync(cancellationToken))
        {
            throw new StoreMismatchException($"database {database.DisplayName} has loads whose accounts are in another account table than "
                + "this, which is fresh: use the storage account it belongs to, or a fresh database");
        }
        if (inTable is not null && inTable != inDatabase)
        {
            throw new StoreMismatchException($"database {database.DisplayName} (store {inDatabase?.Id}) and the account table (store "
                + $"{inTable.Id}) do not belong together: set HIBP_DATABASE and HIBP_STORAGE to the same store");
        }
        if (inTable is not (null or { PartitionSpread: 1, StorageAccounts: 1 }))
            throw new StoreMismatchException("the store was made with partition spreading or several storage accounts, which this program "
                + "doesn't know: use the program it was made with");
    }
}
