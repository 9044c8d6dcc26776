using System.Reflection;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;
using HibpIngest.Stores;

namespace HibpIngest.Testing;

/// <summary>The process died.</summary>
public sealed class CrashException() : Exception("the process died here");

/// <summary>
/// Counts every call that a process makes on its stores, and kills it at the Nth: before the call, or after it
/// and before its answer. From then on every call fails, as a dead process makes none.
/// </summary>
internal sealed class CrashPoint(int at, bool afterwards)
{
    private int _calls;

    /// <summary>Calls made so far.</summary>
    public int Calls => Volatile.Read(ref _calls);

    /// <summary>Whether the process has died.</summary>
    public bool Crashed => Volatile.Read(ref _calls) >= at;

    /// <summary>What the call at which it died was.</summary>
    public string? Where { get; private set; }

    /// <summary>A context whose calls count.</summary>
    public PipelineContext Wrap(PipelineContext context) => context with
    {
        Database = Wrap(context.Database),
        Table = Wrap(context.Table),
        Register = Wrap(context.Register),
        Blobs = Wrap(context.Blobs),
        Queues = Wrap(context.Queues),
        Sender = Wrap(context.Sender),
    };

    private T Wrap<T>(T port)
        where T : class
    {
        var proxy = DispatchProxy.Create<T, PortProxy<T>>();
        ((PortProxy<T>)(object)proxy).Set(this, port);
        return proxy;
    }

    private void Before(string what)
    {
        var call = Interlocked.Increment(ref _calls);
        if (call == at)
            Where = what;
        if (call > at || (call == at && !afterwards))
            throw new CrashException();
    }

    private void After()
    {
        if (Crashed)
            throw new CrashException();
    }

    public class PortProxy<T> : DispatchProxy
        where T : class
    {
        private CrashPoint _point = null!;
        private T _port = null!;

        internal void Set(CrashPoint point, T port) => (_point, _port) = (point, port);

        protected override object? Invoke(MethodInfo? method, object?[]? args)
        {
            var result = method!.ReturnType;
            if (typeof(Task).IsAssignableFrom(result))
            {
                return result == typeof(Task)
                    ? CallAsync(method, args)
                    : typeof(PortProxy<T>).GetMethod(nameof(CallWithResultAsync), BindingFlags.Instance | BindingFlags.NonPublic)!.MakeGenericMethod(result.GetGenericArguments()[0]).Invoke(this, [method, args]);
            }
            var value = method.Invoke(_port, args);
            return value is IMessageQueue queue ? _point.Wrap(queue) : value;
        }

        private async Task CallAsync(MethodInfo method, object?[]? args)
        {
            _point.Before($"{typeof(T).Name}.{method.Name}");
            await (Task)method.Invoke(_port, args)!;
            _point.After();
        }

        private async Task<TResult> CallWithResultAsync<TResult>(MethodInfo method, object?[]? args)
        {
            _point.Before($"{typeof(T).Name}.{method.Name}");
            var result = await (Task<TResult>)method.Invoke(_port, args)!;
            _point.After();
            return result;
        }
    }
}
