namespace HibpIngest.Storage.Azure;

/// <summary>The tables of the store's storage accounts, which are numbered from 1.</summary>
internal sealed class StorageTables(IReadOnlyList<StorageAccount> accounts) : IStoreTables, IStorageAccounts
{
    public int Count => accounts.Count;

    public Task<StorageAccountIdentity?> FindAsync(int number, CancellationToken cancellationToken) =>
        accounts[number - 1].OwnRegister.FindAccountAsync(cancellationToken);

    public async Task PutAsync(StorageAccountIdentity identity, CancellationToken cancellationToken)
    {
        var register = accounts[identity.Number - 1].OwnRegister;
        await register.CreateAsync(cancellationToken);
        await register.PutAccountAsync(identity, cancellationToken);
    }

    public IAccountTable Accounts(TablePlace place) => AccountOf(place).AccountTable(place.Table);

    public IRangeTable Ranges(TablePlace place) => AccountOf(place).RangeTable(place.Table);

    public IAccountReads AccountReads(TablePlace place) => AccountOf(place).AccountTable(place.Table);

    public IRangeReads RangeReads(TablePlace place) => AccountOf(place).RangeTable(place.Table);

    private StorageAccount AccountOf(TablePlace place) =>
        place.StorageAccount >= 1 && place.StorageAccount <= accounts.Count ? accounts[place.StorageAccount - 1]
        : throw new StoreMismatchException(
            $"table {place.Table} is in storage account {place.StorageAccount} of the store, but this process has the settings of only "
            + $"{accounts.Count}: set HIBP_STORAGE, HIBP_STORAGE_2, and so on, in the store's order");
}
