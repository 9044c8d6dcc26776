using System.Text.Encodings.Web;

namespace HibpIngest.Cli.Output;

/// <summary>Formats a host's log as JSON, one object a line. Output other than its log has the category <c>hibp</c>.</summary>
internal sealed class JsonLines(TimeProvider time)
{
    private const string Format = "{OriginalFormat}";

    private static readonly JsonWriterOptions Options = new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    public string Message(string line)
    {
        const string Warning = "warning: ";
        return line.StartsWith(Warning, StringComparison.Ordinal)
            ? Line(LogLevel.Warning, "hibp", default, line[Warning.Length..], null, null)
            : Line(LogLevel.Information, "hibp", default, line, null, null);
    }

    public string Line(
        LogLevel level, string category, EventId id, string message, IEnumerable<KeyValuePair<string, object?>>? fields,
        Exception? exception)
    {
        using var bytes = new MemoryStream();
        using (var json = new Utf8JsonWriter(bytes, Options))
        {
            json.WriteStartObject();
            json.WriteString("time", TableFormat.Utc(time.GetUtcNow()));
            json.WriteString("level", level.ToString().ToLowerInvariant());
            json.WriteString("category", category);
            if (id.Id != 0)
                json.WriteNumber("event", id.Id);
            if (id.Name is not null)
                json.WriteString("name", id.Name);
            json.WriteString("message", message);
            if (fields?.Where(field => field.Key != Format).ToList() is { Count: > 0 } some)
            {
                json.WriteStartObject("fields");
                foreach (var (name, value) in some)
                    Write(json, name, value);
                json.WriteEndObject();
            }
            if (exception is not null)
                json.WriteString("exception", exception.GetType().Name);
            json.WriteEndObject();
        }
        return TerminalText.EscapeJson(Encoding.UTF8.GetString(bytes.GetBuffer(), 0, (int)bytes.Length));
    }

    private static void Write(Utf8JsonWriter json, string name, object? value)
    {
        json.WritePropertyName(name);
        switch (value)
        {
            case null: json.WriteNullValue(); break;
            case bool truth: json.WriteBooleanValue(truth); break;
            case int number: json.WriteNumberValue(number); break;
            case long number: json.WriteNumberValue(number); break;
            case double number when double.IsFinite(number): json.WriteNumberValue(number); break;
            case TimeSpan span: json.WriteNumberValue(span.TotalSeconds); break;
            default: json.WriteStringValue(Convert.ToString(value, CultureInfo.InvariantCulture)); break;
        }
    }
}

internal enum LogFormat
{
    Text,
    Json,
}
