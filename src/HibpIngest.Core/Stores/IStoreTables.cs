namespace HibpIngest.Stores;

/// <summary>
/// The account and range tables in all storage accounts of the store. Getting a table makes no request, and allocates once per
/// table.
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

/// <summary>A table in one of the storage accounts.</summary>
/// <param name="StorageAccount">Number among the store's storage accounts, 1 and up.</param>
public readonly record struct TablePlace(int StorageAccount, string Table);
