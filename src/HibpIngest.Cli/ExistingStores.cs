using HibpIngest.Errors;
using HibpIngest.Pipeline;
using HibpIngest.Ports;

namespace HibpIngest.Cli;

/// <summary>Makes sure that the stores are there and belong together, as <see cref="StoreSetup"/> does, but makes nothing: for what reads, or changes only what is there.</summary>
internal static class ExistingStores
{
    /// <exception cref="NotPossibleException">The database is missing or empty.</exception>
    /// <exception cref="StoreMismatchException">Its schema is another program's.</exception>
    public static async Task RequireDatabaseAsync(IBreachDatabase database, CancellationToken cancellationToken)
    {
        if (!await HasDatabaseAsync(database, cancellationToken))
        {
            throw new NotPossibleException($"database {database.DisplayName} is not there, or is empty: name the one that is meant by --database or HIBP_DATABASE; 'hibp run' sets a new one up");
        }
    }

    /// <param name="context">The stores.</param>
    /// <param name="storage">How the operator knows the storage account.</param>
    /// <param name="cancellationToken">Stops it.</param>
    /// <exception cref="NotPossibleException">The stores were not set up yet.</exception>
    /// <exception cref="StoreMismatchException">They don't belong together, or the schema is another program's.</exception>
    public static async Task RequireAsync(PipelineContext context, string storage, CancellationToken cancellationToken)
    {
        await RequireDatabaseAsync(context.Database, cancellationToken);
        if (!await BelongTogetherAsync(context, storage, cancellationToken))
        {
            throw new NotPossibleException($"database {context.Database.DisplayName} and storage {storage} are not set up yet: 'hibp run' does that, "
                + "or name those that are meant by HIBP_DATABASE and HIBP_STORAGE");
        }
    }

    /// <summary>Makes sure that a database and a storage account aren't of two installations. True where both are of one, false where neither has been set up yet.</summary>
    /// <exception cref="StoreMismatchException">They are of two, or the schema is another program's.</exception>
    public static async Task<bool> BelongTogetherAsync(PipelineContext context, string storage, CancellationToken cancellationToken)
    {
        var database = context.Database.DisplayName;
        var inDatabase = await HasDatabaseAsync(context.Database, cancellationToken) ? await context.Database.GetIdentityAsync(cancellationToken) : null;
        var inTable = await FindIdentityAsync(context.Register, cancellationToken);
        if (inTable is null)
        {
            // The database's identity is written first: without a load it is one whose set-up was cut off.
            return inDatabase is null || !await context.Database.HasLoadsAsync(cancellationToken) ? false
                : throw new StoreMismatchException($"database {database} has loads whose accounts are in another storage account than {storage}, which is fresh: use the one it belongs to");
        }
        if (inDatabase is null)
        {
            throw new StoreMismatchException($"the account table in {storage} belongs to another database than {database}, which is fresh: "
                + "use the database that the table was filled from, or another storage account");
        }
        if (inDatabase != inTable)
        {
            throw new StoreMismatchException($"database {database} (store {inDatabase.Id}) and the account table in {storage} (store {inTable.Id}) do not belong together: use the pair that does");
        }
        return inTable is { PartitionSpread: 1, StorageAccounts: 1 } ? true
            : throw new StoreMismatchException("the store was made with partition spreading or several storage accounts, which this program doesn't know: use the program it was made with");
    }

    private static async Task<bool> HasDatabaseAsync(IBreachDatabase database, CancellationToken cancellationToken)
    {
        var (found, expected) = await database.GetSchemaVersionAsync(cancellationToken);
        if (found > expected)
            throw new StoreMismatchException($"the schema of {database.DisplayName} has version {found}, newer than this program's {expected}: use the newer program");
        if (found > 0 && found < expected)
            throw new StoreMismatchException($"the schema of {database.DisplayName} has version {found} and this program is made for {expected}: run hibp database upgrade");
        return found > 0;
    }

    private static async Task<StoreIdentity?> FindIdentityAsync(IStoreRegister register, CancellationToken cancellationToken)
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
}
