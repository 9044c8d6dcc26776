using HibpIngest.Hosting.Messages;

namespace HibpIngest.Testing;

public sealed class CrashException() : Exception("the process died here");

/// <summary>Crashes a process at its Nth store call: before it, or after it but before its response. All later calls fail.</summary>
internal sealed class CrashPoint(int at, bool afterwards)
{
    private int _calls;

    public int Calls => Volatile.Read(ref _calls);

    public bool Crashed => Volatile.Read(ref _calls) >= at;

    public string? Where { get; private set; }

    public PipelineParts Wrap(PipelineParts context) => context with
    {
        Database = Wrap(context.Database),
        Tables = new HookedTables(context.Tables, Wrap, Wrap),
        StoreAccounts = Wrap(context.StoreAccounts),
        Register = Wrap(context.Register),
        Blobs = Wrap(context.Blobs),
        Catalogue = Wrap(context.Catalogue),
        Log = Wrap(context.Log),
        Clients = Wrap(context.Clients),
        Prefixes = Wrap(context.Prefixes),
        Callbacks = Wrap(context.Callbacks),
        Queues = Wrap(context.Queues),
        Sender = Wrap(context.Sender),
        Caller = Wrap(context.Caller),
    };

    /// <summary>Works like a host until the process crashes; then makes its messages visible, as the visibility timeout does.</summary>
    /// <param name="queues">The queues as another process opens them.</param>
    public static async Task WorkAsync(IMessageQueues queues, PipelineParts dying, Func<Task> first)
    {
        (IMessageQueue Queue, QueuedMessage Message)? held = null;
        try
        {
            var dispatcher = dying.Get<MessageDispatcher>();
            await first();
            for (var any = true; any;)
            {
                any = false;
                foreach (var name in PipelineRig.LoadQueues)
                {
                    var queue = queues.Get(name);
                    foreach (var message in await queue.ReceiveAsync(1, TimeSpan.FromMinutes(10), CancellationToken.None))
                    {
                        any = true;
                        held = (queue, message);
                        await dispatcher.DispatchAsync(name, message.Body, CancellationToken.None);
                        await dying.Queues.Get(name).DeleteAsync(message, CancellationToken.None);
                        held = null;
                    }
                }
            }
        }
        catch (CrashException) when (held is { } one)
        {
            await one.Queue.ExtendAsync(one.Message, TimeSpan.Zero, CancellationToken.None);
        }
        catch (CrashException)
        {
            // Crashed between two messages.
        }
    }

    /// <summary>Returns a port whose calls are counted.</summary>
    public T Wrap<T>(T port)
        where T : class
        => PortProxy<T>.Create(
            port, method => BeforeAsync($"{typeof(T).Name}.{method}"), After, value => value is IMessageQueue queue ? Wrap(queue) : value);

    private Task BeforeAsync(string what)
    {
        var call = Interlocked.Increment(ref _calls);
        if (call == at)
            Where = what;
        if (call > at || (call == at && !afterwards))
            throw new CrashException();
        return Task.CompletedTask;
    }

    private void After()
    {
        if (Crashed)
            throw new CrashException();
    }
}
