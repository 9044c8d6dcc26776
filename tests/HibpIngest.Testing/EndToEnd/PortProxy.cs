using System.Reflection;

namespace HibpIngest.Testing;

/// <summary>Wraps a port, and reports each call by its name.</summary>
internal class PortProxy<T> : DispatchProxy
    where T : class
{
    private T _port = null!;
    private Func<string, object?[], Task> _before = null!;
    private bool _beforeAny;
    private Action? _after;
    private Func<object?, object?>? _wrap;
    private Func<string, object?, object?>? _change;

    /// <param name="before">Called before each call that returns a task.</param>
    /// <param name="after">Called when that task has ended, before its result is returned.</param>
    /// <param name="wrap">Replaces the result of any other call.</param>
    /// <param name="change">Replaces the result of a call that returns a task with one.</param>
    public static T Create(
        T port, Func<string, Task> before, Action? after = null, Func<object?, object?>? wrap = null,
        Func<string, object?, object?>? change = null)
    {
        var made = Create<T, PortProxy<T>>();
        var proxy = (PortProxy<T>)(object)made;
        (proxy._port, proxy._before, proxy._after, proxy._wrap, proxy._change)
            = (port, (method, _) => before(method), after, wrap, change);
        return made;
    }

    /// <param name="port">Receives the calls.</param>
    /// <param name="before">Called with the arguments before each call; it must not wait before a call that returns no task.</param>
    public static T Create(T port, Func<string, object?[], Task> before)
    {
        var made = Create<T, PortProxy<T>>();
        var proxy = (PortProxy<T>)(object)made;
        (proxy._port, proxy._before, proxy._beforeAny) = (port, before, true);
        return made;
    }

    protected override object? Invoke(MethodInfo? method, object?[]? args)
    {
        var result = method!.ReturnType;
        if (result == typeof(Task))
            return CallAsync(method, args);
        if (typeof(Task).IsAssignableFrom(result))
        {
            return typeof(PortProxy<T>).GetMethod(nameof(CallWithResultAsync), BindingFlags.Instance | BindingFlags.NonPublic)!
                .MakeGenericMethod(result.GetGenericArguments()[0]).Invoke(this, [method, args]);
        }
        if (_beforeAny)
            _before(method.Name, args ?? []).GetAwaiter().GetResult();
        var value = method.Invoke(_port, args);
        return _wrap is null ? value : _wrap(value);
    }

    private async Task CallAsync(MethodInfo method, object?[]? args)
    {
        await _before(method.Name, args ?? []);
        await (Task)method.Invoke(_port, args)!;
        _after?.Invoke();
    }

    private async Task<TResult> CallWithResultAsync<TResult>(MethodInfo method, object?[]? args)
    {
        await _before(method.Name, args ?? []);
        var result = await (Task<TResult>)method.Invoke(_port, args)!;
        _after?.Invoke();
        return _change is null ? result : (TResult)_change(method.Name, result)!;
    }
}
