using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace HibpIngest.Hosting.Web;

/// <summary>
/// Lets the web framework log warnings and worse. Below them it logs paths, queries and headers, and so accounts that were asked
/// for, as soon as somebody wants to see more of our own lines.
/// </summary>
internal sealed class FrameworkLogs(ILoggerFactory logs) : ILoggerFactory
{
    private const string OwnCategories = "HibpIngest.";

    // It logs an error for each probe while a store is down, and anybody may probe.
    private const string HealthChecks = "Microsoft.Extensions.Diagnostics.HealthChecks";

    public ILogger CreateLogger(string categoryName)
    {
        if (categoryName.StartsWith(HealthChecks, StringComparison.Ordinal))
            return NullLogger.Instance;
        var log = logs.CreateLogger(categoryName);
        return categoryName.StartsWith(OwnCategories, StringComparison.Ordinal) ? log : new WarningsOnly(log);
    }

    public void AddProvider(ILoggerProvider provider) => logs.AddProvider(provider);

    /// <summary>The logs are whoever's who made them.</summary>
    public void Dispose()
    {
    }

    private sealed class WarningsOnly(ILogger log) : ILogger
    {
        /// <summary>Scopes hold the path of the request that they are of.</summary>
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
