namespace HibpIngest.Testing;

/// <summary>Counts appends, blocks them, loses their responses, or is unavailable.</summary>
internal sealed class WatchedAccessBlobs(IAccessBlobs blobs) : IAccessBlobs
{
    private volatile TaskCompletionSource? _held;
    private TaskCompletionSource _begun = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _appends;

    public int Appends => _appends;

    public volatile bool IsDown;

    /// <summary>Loses the next append's response: true after it was carried out, false instead of it, null loses nothing.</summary>
    public bool? NextIsLost { get; set; }

    /// <summary>Finding a blob waits for this task.</summary>
    public Task Finding { get; set; } = Task.CompletedTask;

    /// <summary>Completes when an append is blocked.</summary>
    public Task Begun => _begun.Task;

    public void Hold()
    {
        _begun = new(TaskCreationOptions.RunContinuationsAsynchronously);
        _held = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }

    public void Release()
    {
        var held = _held;
        _held = null;
        held?.SetResult();
    }

    public Task CreateAsync(CancellationToken cancellationToken) => Up().CreateAsync(cancellationToken);

    public Task<bool> BeginAsync(string name, CancellationToken cancellationToken) => Up().BeginAsync(name, cancellationToken);

    public async Task<BlockAppend> AppendAsync(string name, long position, ReadOnlyMemory<byte> block, CancellationToken cancellationToken)
    {
        if (_held is { } held)
        {
            _begun.TrySetResult();
            await held.Task.WaitAsync(cancellationToken);
        }
        var up = Up();
        var lost = NextIsLost;
        NextIsLost = null;
        if (lost == false)
            throw new UnavailableException("the request was lost");
        var appended = await up.AppendAsync(name, position, block, cancellationToken);
        Interlocked.Increment(ref _appends);
        return lost is null ? appended : throw new UnavailableException("the answer was lost");
    }

    public Task MarkAsync(AccessBlob blob, AccessBlobState state, DateTimeOffset? sentAt, CancellationToken cancellationToken) =>
        Up().MarkAsync(blob, state, sentAt, cancellationToken);

    public async Task<AccessBlob?> FindAsync(string name, CancellationToken cancellationToken)
    {
        await Finding.WaitAsync(cancellationToken);
        return await Up().FindAsync(name, cancellationToken);
    }

    public IAsyncEnumerable<AccessBlob> ListAsync(CancellationToken cancellationToken) => blobs.ListAsync(cancellationToken);

    public Task<Stream?> OpenAsync(string name, long offset, CancellationToken cancellationToken) =>
        Up().OpenAsync(name, offset, cancellationToken);

    public Task DeleteAsync(string name, CancellationToken cancellationToken) => Up().DeleteAsync(name, cancellationToken);

    private IAccessBlobs Up() => IsDown ? throw new UnavailableException("the store is down") : blobs;
}
