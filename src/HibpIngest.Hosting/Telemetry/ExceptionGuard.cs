using HibpIngest.Errors;
using OpenTelemetry;
using OpenTelemetry.Logs;

namespace HibpIngest.Hosting.Telemetry;

/// <summary>
/// Leaves of a logged exception what holds nothing that it was given, an address for one: types and where it
/// happened, not its message. Comes before every exporter of logs.
/// </summary>
internal sealed class ExceptionGuard : BaseProcessor<LogRecord>
{
    // OpenTelemetry's own names, opentelemetry.io/docs/specs/semconv/exceptions/exceptions-logs.
    private const string Type = "exception.type";
    private const string Stack = "exception.stacktrace";

    public override void OnEnd(LogRecord data)
    {
        if (data.Exception is not { } exception)
            return;
        data.Exception = null;
        data.Attributes =
            [.. data.Attributes ?? [], new(Type, exception.GetType().FullName), new(Stack, UnexpectedError.Describe(exception))];
    }

    /// <summary>What it has left of a line's exception, where the line had one.</summary>
    public static bool Find(IReadOnlyList<KeyValuePair<string, object?>> values, out string type, out string stack)
    {
        type = values.FirstOrDefault(value => value.Key == Type).Value as string ?? "";
        stack = values.FirstOrDefault(value => value.Key == Stack).Value as string ?? "";
        return type.Length > 0;
    }
}
