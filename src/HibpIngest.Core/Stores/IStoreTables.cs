namespace HibpIngest.Stores;

/// <summary>
/// The tables of accounts and of their hashes, in every storage account of the store; asking for one calls
/// nothing, and allocates once a table.
/// </summary>
public interface IStoreTables
{
    /// <summary>A table of accounts.</summary>
    /// <exception cref="Errors.StoreMismatchException">This process knows no such storage account.</exception>
    IAccountTable Accounts(TablePlace place);

    /// <summary>The same, to be walked over.</summary>
    /// <inheritdoc cref="Accounts"/>
    IAccountPages AccountPages(TablePlace place);

    /// <summary>A table of hashes.</summary>
    /// <inheritdoc cref="Accounts"/>
    IRangeTable Ranges(TablePlace place);
}

/// <summary>Which table of which storage account.</summary>
/// <param name="StorageAccount">Its number among those of the store, 1 and up.</param>
public readonly record struct TablePlace(int StorageAccount, string Table);
