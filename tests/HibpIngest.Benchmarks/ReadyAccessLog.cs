namespace HibpIngest.Benchmarks;

/// <summary>An access log store that succeeds at once and stores nothing, which leaves the logging process's own work.</summary>
internal sealed class ReadyAccessLog : IAccessBlobs
{
    public Task CreateAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public Task<bool> BeginAsync(string name, CancellationToken cancellationToken) => Task.FromResult(true);

    public async Task<BlockAppend> AppendAsync(
        string name, long position, ReadOnlyMemory<byte> block, CancellationToken cancellationToken)
    {
        await Task.Yield();
        return BlockAppend.Appended;
    }

    public Task MarkAsync(AccessBlob blob, AccessBlobState state, DateTimeOffset? sentAt, CancellationToken cancellationToken) =>
        Task.CompletedTask;

    public Task<AccessBlob?> FindAsync(string name, CancellationToken cancellationToken) => Task.FromResult<AccessBlob?>(null);

    public IAsyncEnumerable<AccessBlob> ListAsync(CancellationToken cancellationToken) => AsyncEnumerable.Empty<AccessBlob>();

    public Task<Stream?> OpenAsync(string name, long offset, CancellationToken cancellationToken) => Task.FromResult<Stream?>(null);

    public Task DeleteAsync(string name, CancellationToken cancellationToken) => Task.CompletedTask;
}
