namespace HibpIngest.Testing;

/// <summary>Counts appends, blocks them, loses their responses, or is unavailable.</summary>
internal sealed class WatchedAccessBlobs
{
    private volatile TaskCompletionSource? _held;
    private TaskCompletionSource _begun = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _appends;

    public WatchedAccessBlobs(IAccessBlobs blobs) => Port = PortProxy<IAccessBlobs>.Create(blobs, CallAsync);

    public IAccessBlobs Port { get; }

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

    private async Task<object?> CallAsync(string method, object?[] arguments, Func<Task<object?>> call)
    {
        var cancellationToken = (CancellationToken)arguments[^1]!;
        var isAppend = method == nameof(IAccessBlobs.AppendAsync);
        if (method == nameof(IAccessBlobs.FindAsync))
            await Finding.WaitAsync(cancellationToken);
        if (isAppend && _held is { } held)
        {
            _begun.TrySetResult();
            await held.Task.WaitAsync(cancellationToken);
        }
        if (IsDown)
            throw new UnavailableException("the store is down");
        if (!isAppend)
            return await call();
        var lost = NextIsLost;
        NextIsLost = null;
        if (lost == false)
            throw new UnavailableException("the request was lost");
        var appended = await call();
        Interlocked.Increment(ref _appends);
        return lost is null ? appended : throw new UnavailableException("the answer was lost");
    }
}
