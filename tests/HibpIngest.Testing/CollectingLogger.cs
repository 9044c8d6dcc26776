using Microsoft.Extensions.Logging;

namespace HibpIngest.Testing;

internal sealed class CollectingLogger : ILogger, ILoggerProvider
{
    public ConcurrentQueue<(int Event, string Text)> Lines { get; } = new();

    /// <summary>Called with each event's id once the entry is stored.</summary>
    public Action<int>? OnEvent { get; init; }

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
