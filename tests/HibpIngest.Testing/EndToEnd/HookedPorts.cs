using System.Reflection;
using HibpIngest.Hosting;
using HibpIngest.Pipeline;

namespace HibpIngest.Testing;

/// <summary>
/// Does what a test says before each call that a process makes on the database or the table: told its number (1
/// and up) and its name.
/// </summary>
internal sealed class HookedPorts(Func<int, string, Task> before)
{
    private int _calls;

    /// <summary>Calls made so far.</summary>
    public int Calls => Volatile.Read(ref _calls);

    public PipelineContext Wrap(PipelineContext context) => context with { Database = Wrap(context.Database), Table = Wrap(context.Table) };

    private T Wrap<T>(T port)
        where T : class
    {
        var proxy = DispatchProxy.Create<T, PortProxy<T>>();
        ((PortProxy<T>)(object)proxy).Set(this, port);
        return proxy;
    }

    public class PortProxy<T> : DispatchProxy
        where T : class
    {
        private HookedPorts _hooks = null!;
        private T _port = null!;

        internal void Set(HookedPorts hooks, T port) => (_hooks, _port) = (hooks, port);

        protected override object? Invoke(MethodInfo? method, object?[]? args)
        {
            var result = method!.ReturnType;
            if (result == typeof(Task))
                return CallAsync(method, args);
            if (!typeof(Task).IsAssignableFrom(result))
                return method.Invoke(_port, args);
            return typeof(PortProxy<T>).GetMethod(nameof(CallWithResultAsync), BindingFlags.Instance | BindingFlags.NonPublic)!
                .MakeGenericMethod(result.GetGenericArguments()[0]).Invoke(this, [method, args]);
        }

        private async Task CallAsync(MethodInfo method, object?[]? args)
        {
            await BeforeAsync(method);
            await (Task)method.Invoke(_port, args)!;
        }

        private async Task<TResult> CallWithResultAsync<TResult>(MethodInfo method, object?[]? args)
        {
            await BeforeAsync(method);
            return await (Task<TResult>)method.Invoke(_port, args)!;
        }

        private Task BeforeAsync(MethodInfo method) => _hooks.Before(Interlocked.Increment(ref _hooks._calls), method.Name);
    }

    private Task Before(int call, string what) => before(call, what);
}
