using HibpIngest.AzureStorage;
using HibpIngest.Pipeline;

namespace HibpIngest.Hosting;

/// <summary>What a host or a command works with, open. Disposing it closes the stores, and calls nothing.</summary>
/// <param name="Account">The storage account.</param>
/// <param name="LogAccount">That of the account log, where it is another one.</param>
/// <param name="Context">All of the stores.</param>
public sealed record OpenPipeline(StorageAccount Account, StorageAccount? LogAccount, PipelineContext Context) : IAsyncDisposable
{
    public async ValueTask DisposeAsync()
    {
        await Context.Sender.DisposeAsync();
        await Context.Caller.DisposeAsync();
        Context.Keys?.Dispose();
        await Context.Database.DisposeAsync();
        LogAccount?.Dispose();
        Account.Dispose();
    }
}
