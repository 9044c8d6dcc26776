namespace HibpIngest.Cli.Output;

/// <summary>
/// Logs through the console of the live progress, which then moves down instead of being overwritten. Warnings and errors with the same
/// reason are one line and a count; with <c>--verbose</c> all are shown, and an exception's stack.
/// </summary>
internal sealed class ScreenLoggerProvider(Screen screen, bool verbose, TimeProvider time) : ILoggerProvider
{
    private const string Reason = "Reason";

    private readonly RepeatedLines _repeated = new(screen.Say, time);

    public ILogger CreateLogger(string categoryName) =>
        new Logger(screen, verbose, time, categoryName[(categoryName.LastIndexOf('.') + 1)..], _repeated);

    public void Dispose() => _repeated.Dispose();

    private sealed class Logger(Screen screen, bool verbose, TimeProvider time, string category, RepeatedLines repeated) : ILogger
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
            var message = formatter(state, exception).ReplaceLineEndings(" ");
            // Lines with the same reason differ only in the message id or the delay.
            var fields = state as IEnumerable<KeyValuePair<string, object?>>;
            var reason = fields?.FirstOrDefault(value => value.Key == Reason).Value;
            if (!verbose && logLevel >= LogLevel.Warning
                && !repeated.IsNew((category, eventId.Id, reason?.ToString() ?? message), $"{level} {category}: {message}"))
                return;
            if (screen.Lines is { } lines)
            {
                screen.Write(lines.Line(logLevel, category, eventId, message, fields, exception));
                return;
            }
            var line = $"{TableFormat.Utc(time.GetUtcNow())} {level} {category}: {message}";
            if (exception is not null)
                line += verbose ? Environment.NewLine + UnexpectedError.Describe(exception) : $" ({exception.GetType().Name})";
            screen.Say(line);
        }
    }
}
