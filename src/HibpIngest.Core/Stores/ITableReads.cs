namespace HibpIngest.Stores;

/// <summary>Read access to the tables of <see cref="IStoreTables"/>.</summary>
public interface ITableReads
{
    /// <exception cref="Errors.StoreMismatchException">The storage account is not configured in this process.</exception>
    IAccountReads Accounts(TablePlace place);

    /// <inheritdoc cref="Accounts"/>
    IRangeReads Ranges(TablePlace place);
}
