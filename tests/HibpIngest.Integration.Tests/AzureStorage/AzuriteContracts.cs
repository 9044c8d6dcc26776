using HibpIngest.Storage.Azure.Connections;

namespace HibpIngest.Integration.Tests.AzureStorage;

internal static class AzuriteStorage
{
    /// <summary>Opens a fresh storage account of the emulator.</summary>
    public static async Task<StorageAccount> OpenAsync(StorageOptions? options = null) =>
        StorageAccount.Open(await AzuriteFixture.NewAccountAsync(), NullLoggerFactory.Instance, options);

    /// <summary>Creates a part of a fresh storage account.</summary>
    public static async Task<T> NewAsync<T>(Func<StorageAccount, T> part, Func<T, CancellationToken, Task> create)
    {
        var made = part(await OpenAsync());
        await create(made, None);
        return made;
    }
}

public sealed class AzureAccountTableTests : AccountTableContract
{
    protected override async Task<(IAccountTable Table, IAccountReads Reads)> NewTableAsync()
    {
        var account = await AzuriteStorage.OpenAsync();
        await account.Table.CreateAsync(None);
        return (account.Table, account.Accounts);
    }
}

public sealed class AzureRangeTableTests : RangeTableContract
{
    protected override Task<IRangeTable> NewTableAsync() =>
        AzuriteStorage.NewAsync<IRangeTable>(account => account.Ranges, (table, token) => table.CreateAsync(token));
}

public sealed class AzureStoreRegisterTests : StoreRegisterContract
{
    protected override Task<IStoreRegister> NewRegisterAsync() =>
        AzuriteStorage.NewAsync<IStoreRegister>(account => account.Register, (register, token) => register.CreateAsync(token));
}

public sealed class AzureMessageQueueTests : MessageQueueContract
{
    protected override Task<IMessageQueue> NewQueueAsync() =>
        AzuriteStorage.NewAsync(account => account.Queues.Get("breach-test"), (queue, token) => queue.CreateAsync(token));
}

public sealed class AzureBreachBlobsTests : BreachBlobsContract
{
    protected override Task<IBreachBlobs> NewContainerAsync() =>
        AzuriteStorage.NewAsync<IBreachBlobs>(account => account.Blobs, (blobs, token) => blobs.CreateAsync(token));
}

public sealed class AzureCatalogueBlobsTests : CatalogueBlobsContract
{
    protected override Task<ICatalogueBlobs> NewContainerAsync() =>
        AzuriteStorage.NewAsync<ICatalogueBlobs>(account => account.Catalogue, (blobs, token) => blobs.CreateAsync(token));
}

public sealed class AzurePasswordAppendsTests : PasswordAppendsContract
{
    protected override async Task<IPasswordAppends> NewStoreAsync() => (await AzuriteStorage.OpenAsync()).PasswordAppends;
}

public sealed class AzureJournalBlobsTests : JournalBlobsContract
{
    protected override async Task<IJournalBlobs> NewContainerAsync() => (await AzuriteStorage.OpenAsync()).JournalBlobs;
}

public sealed class AzureUsageTableTests : UsageTableContract
{
    protected override async Task<IUsageTable> NewTableAsync() => (await AzuriteStorage.OpenAsync()).Usage;
}

public sealed class AzureAccessBlobsTests : AccessBlobsContract
{
    protected override Task<IAccessBlobs> OpenAsync() =>
        AzuriteStorage.NewAsync<IAccessBlobs>(account => account.AccessLog, (blobs, token) => blobs.CreateAsync(token));
}

public sealed class AzurePrefixBlobsTests : PrefixBlobsContract
{
    protected override async Task<IPrefixBlobs> NewStoreAsync() => (await AzuriteStorage.OpenAsync()).Prefixes;
}

public sealed class AzureCallbackClientsTests : CallbackClientsContract
{
    protected override async Task<ICallbackClients> NewTableAsync() => (await AzuriteStorage.OpenAsync()).Clients;
}
