namespace HibpIngest.Stores;

/// <summary>The same tables as <see cref="IStoreTables"/>, as readers need them.</summary>
public interface ITableReads
{
    /// <exception cref="Errors.StoreMismatchException">This process knows no such storage account.</exception>
    IAccountReads Accounts(TablePlace place);

    /// <inheritdoc cref="Accounts"/>
    IRangeReads Ranges(TablePlace place);
}
