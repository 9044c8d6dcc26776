namespace HibpIngest.Stores;

/// <summary>
/// The account and range tables in all storage accounts of the store. Getting a table makes no request, and allocates once per table.
/// </summary>
public interface IStoreTables
{
    /// <exception cref="Errors.StoreMismatchException">The storage account is not configured in this process.</exception>
    IAccountTable Accounts(TablePlace place);

    /// <inheritdoc cref="Accounts"/>
    IRangeTable Ranges(TablePlace place);

    /// <inheritdoc cref="Accounts"/>
    IAccountReads AccountReads(TablePlace place);

    /// <inheritdoc cref="Accounts"/>
    IRangeReads RangeReads(TablePlace place);
}

public static class StoreTablesReads
{
    /// <summary>Returns the marks of one account in a layout, as <see cref="IAccountReads.GetMarksAsync"/>.</summary>
    /// <param name="placement">That of the layout.</param>
    public static Task<IReadOnlyList<int>> GetMarksAsync(
        this IStoreTables tables, LayoutFacts facts, LayoutPlacement placement, Account account, int highestMark,
        CancellationToken cancellationToken)
    {
        var place = placement.Find(account);
        return tables.AccountReads(new TablePlace(place.StorageAccount, facts.AccountsTable))
            .GetMarksAsync(account with { Domain = place.Partition }, highestMark, cancellationToken);
    }
}

/// <summary>A table in one of the storage accounts.</summary>
/// <param name="StorageAccount">Number among the store's storage accounts, 1 and up.</param>
public readonly record struct TablePlace(int StorageAccount, string Table);

/// <summary>The store's storage accounts in order. Each records the store that it belongs to and its number.</summary>
public interface IStorageAccounts
{
    int Count { get; }

    /// <summary>Returns the identity recorded in a storage account.</summary>
    /// <param name="number">1 and up.</param>
    /// <returns>Null if none is recorded.</returns>
    Task<StorageAccountIdentity?> FindAsync(int number, CancellationToken cancellationToken);

    /// <summary>Records the identity in its storage account, and creates the register there if it is missing.</summary>
    Task PutAsync(StorageAccountIdentity identity, CancellationToken cancellationToken);
}

/// <param name="Store">The id of the store (<see cref="StoreIdentity.Id"/>).</param>
/// <param name="Number">Number among the store's storage accounts, 1 and up.</param>
/// <param name="Of">Number of storage accounts when the store was last set up; it only grows.</param>
public sealed record StorageAccountIdentity(Guid Store, int Number, int Of);
