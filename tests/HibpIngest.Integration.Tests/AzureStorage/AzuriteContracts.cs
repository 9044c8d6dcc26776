using HibpIngest.Storage.Azure;
using HibpIngest.Storage.Azure.Connections;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Integration.Tests.AzureStorage;

internal static class AzuriteStorage
{
    /// <summary>Opens a fresh storage account of the emulator.</summary>
    public static async Task<StorageAccount> OpenAsync(StorageOptions? options = null) =>
        StorageAccount.Open(await AzuriteFixture.NewAccountAsync(), NullLoggerFactory.Instance, options);
}

public sealed class AzureAccountTableTests : AccountTableContract
{
    protected override async Task<(IAccountTable Table, IAccountReads Reads)> NewTableAsync()
    {
        var account = await AzuriteStorage.OpenAsync();
        await account.Table.CreateAsync(CancellationToken.None);
        return (account.Table, account.Accounts);
    }
}

public sealed class AzureRangeTableTests : RangeTableContract
{
    protected override async Task<IRangeTable> NewTableAsync()
    {
        var table = (await AzuriteStorage.OpenAsync()).Ranges;
        await table.CreateAsync(CancellationToken.None);
        return table;
    }
}

public sealed class AzureStoreRegisterTests : StoreRegisterContract
{
    protected override async Task<IStoreRegister> NewRegisterAsync()
    {
        var register = (await AzuriteStorage.OpenAsync()).Register;
        await register.CreateAsync(CancellationToken.None);
        return register;
    }
}

public sealed class AzureMessageQueueTests : MessageQueueContract
{
    protected override async Task<IMessageQueue> NewQueueAsync()
    {
        var queue = (await AzuriteStorage.OpenAsync()).Queues.Get("breach-test");
        await queue.CreateAsync(CancellationToken.None);
        return queue;
    }
}

public sealed class AzureBreachBlobsTests : BreachBlobsContract
{
    protected override async Task<IBreachBlobs> NewContainerAsync()
    {
        var blobs = (await AzuriteStorage.OpenAsync()).Blobs;
        await blobs.CreateAsync(CancellationToken.None);
        return blobs;
    }
}

public sealed class AzureCatalogueBlobsTests : CatalogueBlobsContract
{
    protected override async Task<ICatalogueBlobs> NewContainerAsync()
    {
        var blobs = (await AzuriteStorage.OpenAsync()).Catalogue;
        await blobs.CreateAsync(CancellationToken.None);
        return blobs;
    }
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
    protected override async Task<IAccessBlobs> OpenAsync()
    {
        var blobs = (await AzuriteStorage.OpenAsync()).AccessLog;
        await blobs.CreateAsync(CancellationToken.None);
        return blobs;
    }
}

public sealed class AzurePrefixBlobsTests : PrefixBlobsContract
{
    protected override async Task<IPrefixBlobs> NewStoreAsync() => (await AzuriteStorage.OpenAsync()).Prefixes;
}

public sealed class AzureCallbackClientsTests : CallbackClientsContract
{
    protected override async Task<ICallbackClients> NewTableAsync() => (await AzuriteStorage.OpenAsync()).Clients;
}
