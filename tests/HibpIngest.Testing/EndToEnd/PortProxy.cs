using System.Reflection;

namespace HibpIngest.Testing;

/// <summary>Wraps a port, and runs a hook around each call that returns a task.</summary>
internal class PortProxy<T> : DispatchProxy
    where T : class
{
    private static readonly MethodInfo Call =
        typeof(PortProxy<T>).GetMethod(nameof(CallAsync), BindingFlags.Instance | BindingFlags.NonPublic)!;

    private T _port = null!;
    private Func<string, object?[], Func<Task<object?>>, Task<object?>> _around = null!;
    private Action<string, object?[]>? _beforeOthers;
    private Func<object?, object?>? _wrap;

    /// <param name="before">Called before each call that returns a task.</param>
    /// <param name="after">Called when that task has ended, before its result is returned.</param>
    /// <param name="wrap">Replaces the result of any other call.</param>
    /// <param name="change">Replaces the result of a call that returns a task; it gets null if the task has none.</param>
    public static T Create(
        T port, Func<string, Task> before, Action? after = null, Func<object?, object?>? wrap = null,
        Func<string, object?, object?>? change = null) =>
        Create(
            port, async (method, _, call) =>
            {
                await before(method);
                var result = await call();
                after?.Invoke();
                return change is null ? result : change(method, result);
            },
            wrap: wrap);

    /// <param name="port">Receives the calls.</param>
    /// <param name="before">Called with the arguments before each call; it must not wait before a call that returns no task.</param>
    public static T Create(T port, Func<string, object?[], Task> before) =>
        Create(
            port, async (method, arguments, call) =>
            {
                await before(method, arguments);
                return await call();
            },
            (method, arguments) => before(method, arguments).GetAwaiter().GetResult());

    /// <param name="port">Receives the calls.</param>
    /// <param name="around">Called in place of each call that returns a task, with its arguments and the call; returns the result.</param>
    /// <param name="beforeOthers">Called before any other call.</param>
    /// <param name="wrap">Replaces the result of any other call.</param>
    public static T Create(
        T port, Func<string, object?[], Func<Task<object?>>, Task<object?>> around, Action<string, object?[]>? beforeOthers = null,
        Func<object?, object?>? wrap = null)
    {
        var made = Create<T, PortProxy<T>>();
        var proxy = (PortProxy<T>)(object)made;
        (proxy._port, proxy._around, proxy._beforeOthers, proxy._wrap) = (port, around, beforeOthers, wrap);
        return made;
    }

    protected override object? Invoke(MethodInfo? method, object?[]? args)
    {
        var result = method!.ReturnType;
        if (typeof(Task).IsAssignableFrom(result))
        {
            var type = result.IsGenericType ? result.GetGenericArguments()[0] : typeof(object);
            return Call.MakeGenericMethod(type).Invoke(this, [method, args]);
        }
        _beforeOthers?.Invoke(method.Name, args ?? []);
        var value = method.Invoke(_port, BindingFlags.DoNotWrapExceptions, null, args, null);
        return _wrap is null ? value : _wrap(value);
    }

    private async Task<TResult> CallAsync<TResult>(MethodInfo method, object?[]? args) =>
        (TResult)(await _around(method.Name, args ?? [], async () =>
        {
            var call = (Task)method.Invoke(_port, BindingFlags.DoNotWrapExceptions, null, args, null)!;
            await call;
            return call is Task<TResult> ended ? (object?)ended.Result : null;
        }))!;
}
