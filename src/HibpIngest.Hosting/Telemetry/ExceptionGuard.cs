using OpenTelemetry;
using OpenTelemetry.Logs;

namespace HibpIngest.Hosting.Telemetry;

/// <summary>
/// Removes from a logged exception everything that could contain input data, such as addresses: keeps types and stack, not the message.
/// Runs before every exporter of logs.
/// </summary>
/// <param name="keepsItem">Replaces the exception by a <see cref="LoggedException"/>, for an exporter that makes another kind of item of
/// lines with an exception.</param>
internal sealed class ExceptionGuard(bool keepsItem) : BaseProcessor<LogRecord>
{
    public override void OnEnd(LogRecord data)
    {
        if (data.Exception is not { } exception)
            return;
        data.Exception = keepsItem ? new LoggedException(data.FormattedMessage) : null;
        // Attribute names of OpenTelemetry: opentelemetry.io/docs/specs/semconv/exceptions/exceptions-logs.
        data.Attributes =
        [
            .. data.Attributes ?? [], new("exception.type", exception.GetType().FullName),
            new("exception.stacktrace", UnexpectedError.Describe(exception)),
        ];
    }
}

/// <summary>Stands in for an exception that was logged; its message is that of the log line.</summary>
internal sealed class LoggedException(string? line) : Exception(line);
