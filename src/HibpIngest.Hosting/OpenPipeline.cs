using HibpIngest.AzureStorage;
using HibpIngest.Pipeline;

namespace HibpIngest.Hosting;

/// <summary>What a host or a command works with, open. Disposing it closes the stores, and calls nothing.</summary>
public sealed record OpenPipeline(StorageAccount Account, PipelineContext Context) : IAsyncDisposable
{
    public async ValueTask DisposeAsync()
    {
        await Context.Sender.DisposeAsync();
        Context.Passwords.Dispose();
        await Context.Database.DisposeAsync();
        Account.Dispose();
    }
}
