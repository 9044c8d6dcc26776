namespace HibpIngest.Testing;

/// <summary>Wraps a container: counts and blocks reads, calls hooks, and fails from the Nth call on as if the process had ended.</summary>
internal sealed class FaultyBlobs(IPasswordBlobs blobs) : IPasswordBlobs
{
    private TaskCompletionSource? _held;
    private int _calls;
    private int _reads;

    public int Reads => _reads;

    public int Calls => _calls;

    /// <summary>This call and every later one fails; 0: none does.</summary>
    public int FailsFrom { get; init; }

    /// <summary>The first failing call is carried out, and only its response is lost.</summary>
    public bool LosesOnlyFirstResponse { get; init; }

    /// <summary>Returns whether the store is unavailable at a call.</summary>
    public Func<bool>? IsDown { get; init; }

    /// <summary>Called with the operation and the blob's name before each call; may wait or do something in between.</summary>
    public Func<string, string, Task>? Before { get; init; }

    /// <summary>Called in the same way after each successful call, before its caller sees the result.</summary>
    public Func<string, string, Task>? After { get; init; }

    public Func<string, PasswordContent, PasswordContent>? OnWrite { get; init; }

    public Func<string, int, int>? OnAppend { get; init; }

    /// <summary>Returns false if the simulated process ended during the work.</summary>
    public static async Task<bool> IsCompletedAsync(Func<Task> work)
    {
        try
        {
            await work();
            return true;
        }
        catch (Exception e) when (e is ProcessEndedException or AggregateException)
        {
            return false;
        }
    }

    /// <summary>Returns a hook that runs work at the Nth call of an operation on a blob whose name ends with this text.</summary>
    public static Func<string, string, Task> OnceAt(string operation, string end, Func<Task> work, int number = 1)
    {
        var calls = 0;
        return (called, name) => called == operation && name.EndsWith(end, StringComparison.Ordinal)
            && Interlocked.Increment(ref calls) == number ? work() : Task.CompletedTask;
    }

    public void Hold() => _held = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public void Release() => _held?.SetResult();

    public Task CreateAsync(CancellationToken cancellationToken) => blobs.CreateAsync(cancellationToken);

    public Task<PasswordBlob?> ReadAsync(string name, string? knownETag, CancellationToken cancellationToken) =>
        ReadAsync(name, () => blobs.ReadAsync(name, knownETag, cancellationToken));

    public Task<PasswordBlob?> ReadPartAsync(string name, string etag, long offset, int length, CancellationToken cancellationToken) =>
        ReadAsync(name, () => blobs.ReadPartAsync(name, etag, offset, length, cancellationToken));

    public Task<PasswordBlobVersion?> FindAsync(string name, CancellationToken cancellationToken) =>
        CallBlobAsync("Find", name, () => blobs.FindAsync(name, cancellationToken));

    public Task<string?> WriteAsync(string name, PasswordContent content, string? replaces, CancellationToken cancellationToken) =>
        CallBlobAsync("Write", name, () => blobs.WriteAsync(name, OnWrite?.Invoke(name, content) ?? content, replaces, cancellationToken));

    public Task<string?> UploadAsync(string name, Stream content, string? replaces, CancellationToken cancellationToken) =>
        CallBlobAsync("Upload", name, () => blobs.UploadAsync(name, content, replaces, cancellationToken));

    public Task<int> AppendAsync(string name, ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken) =>
        CallBlobAsync("Append", name, async () =>
        {
            var blocks = await blobs.AppendAsync(name, bytes, cancellationToken);
            return OnAppend?.Invoke(name, blocks) ?? blocks;
        });

    public Task<ReadOnlyMemory<byte>?> ReadFromAsync(string name, long offset, int limit, CancellationToken cancellationToken) =>
        CallBlobAsync("ReadFrom", name, () => blobs.ReadFromAsync(name, offset, limit, cancellationToken));

    public IAsyncEnumerable<string> ListAsync(string prefix, CancellationToken cancellationToken) =>
        blobs.ListAsync(prefix, cancellationToken);

    public IAsyncEnumerable<string> ListFoldersAsync(string prefix, CancellationToken cancellationToken) =>
        blobs.ListFoldersAsync(prefix, cancellationToken);

    public Task DeleteAsync(string name, CancellationToken cancellationToken) =>
        CallBlobAsync("Delete", name, () => blobs.DeleteAsync(name, cancellationToken));

    public Task DeleteAsync(string name, string etag, CancellationToken cancellationToken) =>
        CallBlobAsync("Delete", name, () => blobs.DeleteAsync(name, etag, cancellationToken));

    private async Task<PasswordBlob?> ReadAsync(string name, Func<Task<PasswordBlob?>> read)
    {
        Interlocked.Increment(ref _reads);
        if (_held is { } held)
            await held.Task;
        return await CallBlobAsync("Read", name, read);
    }

    private Task CallBlobAsync(string operation, string name, Func<Task> call) => CallBlobAsync(operation, name, async () =>
    {
        await call();
        return true;
    });

    private async Task<T> CallBlobAsync<T>(string operation, string name, Func<Task<T>> call)
    {
        if (Before is not null)
            await Before(operation, name);
        var result = await CountAsync(call);
        if (After is not null)
            await After(operation, name);
        return result;
    }

    /// <summary>Counts any other store call as one of the same process, so that it can be the one that fails.</summary>
    public Task CountAsync(Func<Task> call) => CountAsync(async () =>
    {
        await call();
        return true;
    });

    public async Task<T> CountAsync<T>(Func<Task<T>> call)
    {
        var number = Interlocked.Increment(ref _calls);
        if (IsDown?.Invoke() == true)
            throw new UnavailableException("simulated outage");
        if (FailsFrom == 0 || number < FailsFrom)
            return await call();
        if (number == FailsFrom && LosesOnlyFirstResponse)
            await call();
        throw new ProcessEndedException();
    }
}

/// <summary>The simulated process has ended; code under test must not catch this.</summary>
internal sealed class ProcessEndedException() : Exception("the process ended here");

/// <summary>Counts reads of tables, and blocks them.</summary>
internal sealed class WatchedTables(IPasswordTables tables) : IPasswordTables
{
    private TaskCompletionSource? _held;
    private int _reads;

    public int Reads => _reads;

    public void Hold() => _held = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public void Release() => _held?.SetResult();

    public Task<bool> CreateAsync(string table, CancellationToken cancellationToken) => tables.CreateAsync(table, cancellationToken);

    public async Task<IReadOnlyList<PasswordRow>> ReadAsync(string table, string prefix, CancellationToken cancellationToken)
    {
        Interlocked.Increment(ref _reads);
        if (_held is { } held)
            await held.Task;
        return await tables.ReadAsync(table, prefix, cancellationToken);
    }

    public Task WriteAsync(string table, string prefix, IReadOnlyList<PasswordRow> rows, CancellationToken cancellationToken) =>
        tables.WriteAsync(table, prefix, rows, cancellationToken);

    public Task DropAsync(string table, CancellationToken cancellationToken) => tables.DropAsync(table, cancellationToken);
}
