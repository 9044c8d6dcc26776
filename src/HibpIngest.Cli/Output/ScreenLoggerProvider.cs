using System.Globalization;
using HibpIngest.Errors;
using Microsoft.Extensions.Logging;

namespace HibpIngest.Cli.Output;

/// <summary>
/// Logs to standard error, one line each, through the same console as live progress, which then moves down
/// instead of being written over. An exception's stack is shown with <c>--verbose</c> only.
/// </summary>
internal sealed class ScreenLoggerProvider(Screen screen, bool verbose, TimeProvider time) : ILoggerProvider
{
    public ILogger CreateLogger(string categoryName) =>
        new Logger(screen, verbose, time, categoryName[(categoryName.LastIndexOf('.') + 1)..]);

    public void Dispose()
    {
    }

    private sealed class Logger(Screen screen, bool verbose, TimeProvider time, string category) : ILogger
    {
        public IDisposable? BeginScope<TState>(TState state)
            where TState : notnull => null;

        public bool IsEnabled(LogLevel logLevel) => logLevel != LogLevel.None;

        public void Log<TState>(
            LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
        {
            var level = logLevel switch
            {
                LogLevel.Trace => "trace",
                LogLevel.Debug => "debug",
                LogLevel.Information => "info",
                LogLevel.Warning => "warning",
                LogLevel.Error => "error",
                _ => "critical",
            };
            var now = time.GetLocalNow().ToString("HH:mm:ss", CultureInfo.InvariantCulture);
            var line = $"{now} {level} {category}: {OneLine(formatter(state, exception))}";
            if (exception is not null)
                line += verbose ? Environment.NewLine + UnexpectedError.Describe(exception) : $" ({exception.GetType().Name})";
            screen.Say(line);
        }

        private static string OneLine(string text) => text.ReplaceLineEndings(" ");
    }
}
