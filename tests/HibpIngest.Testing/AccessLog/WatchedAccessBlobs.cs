namespace HibpIngest.Testing;

/// <summary>Counts appends, blocks them, loses their responses, or is unavailable.</summary>
internal sealed class WatchedAccessBlobs(IAccessBlobs blobs) : IAccessBlobs
{
    private volatile TaskCompletionSource? _held;
    private TaskCompletionSource _begun = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _appends;
    private int _tried;

    /// <summary>Appends that were carried out.</summary>
    public int Appends => _appends;

    /// <summary>Calls made while the store was unavailable.</summary>
    public int Tried => _tried;

    public volatile bool IsDown;

    /// <summary>
    /// Loses the next append's response: true after it was carried out, false without carrying it out, null loses
    /// nothing.
    /// </summary>
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

    public Task CreateAsync(CancellationToken cancellationToken) => CallAsync(() => blobs.CreateAsync(cancellationToken));

    public async Task<bool> BeginAsync(string name, CancellationToken cancellationToken)
    {
        ThrowIfDown();
        return await blobs.BeginAsync(name, cancellationToken);
    }

    public async Task<BlockAppend> AppendAsync(string name, long position, ReadOnlyMemory<byte> block, CancellationToken cancellationToken)
    {
        if (_held is { } held)
        {
            _begun.TrySetResult();
            await held.Task.WaitAsync(cancellationToken);
        }
        ThrowIfDown();
        var lost = NextIsLost;
        NextIsLost = null;
        if (lost == false)
            throw new UnavailableException("the request was lost");
        var appended = await blobs.AppendAsync(name, position, block, cancellationToken);
        Interlocked.Increment(ref _appends);
        return lost is null ? appended : throw new UnavailableException("the answer was lost");
    }

    public Task MarkAsync(AccessBlob blob, AccessBlobState state, DateTimeOffset? sentAt, CancellationToken cancellationToken) =>
        CallAsync(() => blobs.MarkAsync(blob, state, sentAt, cancellationToken));

    public async Task<AccessBlob?> FindAsync(string name, CancellationToken cancellationToken)
    {
        await Finding.WaitAsync(cancellationToken);
        ThrowIfDown();
        return await blobs.FindAsync(name, cancellationToken);
    }

    public IAsyncEnumerable<AccessBlob> ListAsync(CancellationToken cancellationToken) => blobs.ListAsync(cancellationToken);

    public async Task<Stream?> OpenAsync(string name, long offset, CancellationToken cancellationToken)
    {
        ThrowIfDown();
        return await blobs.OpenAsync(name, offset, cancellationToken);
    }

    public Task DeleteAsync(string name, CancellationToken cancellationToken) =>
        CallAsync(() => blobs.DeleteAsync(name, cancellationToken));

    private Task CallAsync(Func<Task> call)
    {
        ThrowIfDown();
        return call();
    }

    private void ThrowIfDown()
    {
        if (!IsDown)
            return;
        Interlocked.Increment(ref _tried);
        throw new UnavailableException("the store is down");
    }
}
