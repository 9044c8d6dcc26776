namespace HibpIngest.Testing;

/// <summary>Wraps a container: counts and blocks reads, calls hooks, and fails from the Nth call on as if the process had ended.</summary>
internal sealed class FaultyBlobs
{
    private TaskCompletionSource? _held;
    private int _calls;
    private int _reads;

    public FaultyBlobs(IPasswordBlobs blobs) => Port = Wrap(blobs);

    public IPasswordBlobs Port { get; }

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

    /// <summary>Wraps another port of the same process: its calls count too, and fail together with the container's.</summary>
    public T Wrap<T>(T port)
        where T : class => PortProxy<T>.Create(port, CallAsync);

    private async Task<object?> CallAsync(string method, object?[] arguments, Func<Task<object?>> call)
    {
        var (operation, name) = (method.Replace("PartAsync", "Async", StringComparison.Ordinal)[..^5], arguments[0] as string ?? "");
        if (operation == "Read")
        {
            Interlocked.Increment(ref _reads);
            if (_held is { } held)
                await held.Task;
        }
        if (Before is not null)
            await Before(operation, name);
        if (operation == "Write" && OnWrite is not null)
            arguments[1] = OnWrite(name, (PasswordContent)arguments[1]!);
        var result = await CountAsync(call);
        if (operation == "Append" && OnAppend is not null)
            result = OnAppend(name, (int)result!);
        if (After is not null)
            await After(operation, name);
        return result;
    }

    private async Task<object?> CountAsync(Func<Task<object?>> call)
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
