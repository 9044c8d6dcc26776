using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Hosting.Web;

/// <summary>
/// Limits the web framework's logs to warnings and above. Below, it would log paths, queries and headers, which contain requested accounts,
/// as soon as an operator lowers the log level to see more of this program's lines.
/// </summary>
internal sealed class FrameworkLogs(ILoggerFactory logs) : ILoggerFactory
{
    private const string OwnCategories = "HibpIngest.";

    // While a store is down it logs an error for each probe, and the probes need no key.
    private const string HealthChecks = "Microsoft.Extensions.Diagnostics.HealthChecks";

    public ILogger CreateLogger(string categoryName)
    {
        if (categoryName.StartsWith(HealthChecks, StringComparison.Ordinal))
            return NullLogger.Instance;
        var log = logs.CreateLogger(categoryName);
        return categoryName.StartsWith(OwnCategories, StringComparison.Ordinal) ? log : new WarningsOnly(log);
    }

    public void AddProvider(ILoggerProvider provider) => logs.AddProvider(provider);

    // The inner factory belongs to its creator.
    public void Dispose()
    {
    }

    private sealed class WarningsOnly(ILogger log) : ILogger
    {
        // Scopes contain the request's path.
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => logLevel >= LogLevel.Warning && log.IsEnabled(logLevel);

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            if (IsEnabled(logLevel))
                log.Log(logLevel, eventId, state, exception, formatter);
        }
    }
}
