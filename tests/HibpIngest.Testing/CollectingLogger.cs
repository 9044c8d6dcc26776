using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Testing;

/// <summary>Keeps what is logged.</summary>
internal sealed class CollectingLogger : ILogger, ILoggerProvider
{
    public ConcurrentQueue<(int Event, string Text)> Lines { get; } = new();

    /// <summary>Told of each event once it is kept.</summary>
    public Action<int>? OnEvent { get; init; }

    /// <summary>As that of a class.</summary>
    public ILogger<T> For<T>() => new LoggerFactory([this]).CreateLogger<T>();

    public ILogger CreateLogger(string categoryName) => this;

    public void Dispose()
    {
    }

    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => null;

    public bool IsEnabled(LogLevel logLevel) => true;

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        Lines.Enqueue((eventId.Id, formatter(state, exception)));
        OnEvent?.Invoke(eventId.Id);
    }
}
