using HibpIngest.Errors;
using OpenTelemetry;
using OpenTelemetry.Logs;

namespace HibpIngest.Hosting.Telemetry;

/// <summary>
/// Leaves of a logged exception what holds nothing that it was given, an address for one: types and where it
/// happened, not its message. Comes before every exporter of logs.
/// </summary>
/// <param name="keepsItem">
/// Puts a <see cref="LoggedException"/> in its place, for an exporter that makes another kind of item of lines with an exception.
/// </param>
internal sealed class ExceptionGuard(bool keepsItem) : BaseProcessor<LogRecord>
{
    public override void OnEnd(LogRecord data)
    {
        if (data.Exception is not { } exception)
            return;
        data.Exception = keepsItem ? new LoggedException(data.FormattedMessage) : null;
        // OpenTelemetry's own names, opentelemetry.io/docs/specs/semconv/exceptions/exceptions-logs.
        data.Attributes =
        [
            .. data.Attributes ?? [], new("exception.type", exception.GetType().FullName),
            new("exception.stacktrace", UnexpectedError.Describe(exception)),
        ];
    }
}

/// <summary>Stands in for an exception that was logged; its message is the line's.</summary>
internal sealed class LoggedException(string? line) : Exception(line);
