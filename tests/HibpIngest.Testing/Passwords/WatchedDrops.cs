namespace HibpIngest.Testing;

/// <summary>Uploaded files of the process whose container is watched.</summary>
internal sealed class WatchedDrops(IPasswordDrops drops, FaultyBlobs process) : IPasswordDrops
{
    public Func<Task>? OnRead { get; init; }

    public Task CreateAsync(CancellationToken cancellationToken) => drops.CreateAsync(cancellationToken);

    public IAsyncEnumerable<DroppedPasswords> ListAsync(CancellationToken cancellationToken) => drops.ListAsync(cancellationToken);

    public Task<DroppedPasswords?> FindAsync(string name, CancellationToken cancellationToken) =>
        process.CountAsync(() => drops.FindAsync(name, cancellationToken));

    public async Task<ReadOnlyMemory<byte>?> ReadAsync(
        DroppedPasswords file, long offset, int length, CancellationToken cancellationToken)
    {
        if (OnRead is not null)
            await OnRead();
        return await process.CountAsync(() => drops.ReadAsync(file, offset, length, cancellationToken));
    }

    public Task DeleteAsync(DroppedPasswords file, CancellationToken cancellationToken) =>
        process.CountAsync(() => drops.DeleteAsync(file, cancellationToken));
}
