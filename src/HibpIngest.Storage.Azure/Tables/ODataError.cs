using System.Text.Json;

namespace HibpIngest.Storage.Azure.Tables;

/// <summary>
/// Reads the code of an error body and, within a transaction, the index of the failed operation (the message begins with <c>57:</c>).
/// </summary>
internal static class ODataError
{
    /// <returns>The code of an error response; empty if there is none.</returns>
    public static string CodeOf(Response response) =>
        response.Headers.TryGetValue("x-ms-error-code", out var code) ? code : Parse(response.Content.ToMemory().Span).Code;

    /// <summary>Reads the first JSON object in the bytes; the code is empty if there is none.</summary>
    public static (string Code, int? Index) Parse(ReadOnlySpan<byte> body)
    {
        var start = body.IndexOf((byte)'{');
        if (start < 0)
            return ("", null);
        var reader = new Utf8JsonReader(body[start..], isFinalBlock: false, default);
        try
        {
            if (!JsonDocument.TryParseValue(ref reader, out var document))
                return ("", null);
            using (document)
            {
                if (!document.RootElement.TryGetProperty("odata.error", out var error) || error.ValueKind != JsonValueKind.Object)
                    return ("", null);
                var code = error.TryGetProperty("code", out var codeElement) && codeElement.ValueKind == JsonValueKind.String
                    ? codeElement.GetString()! : "";
                int? index = null;
                if (error.TryGetProperty("message", out var message) && message.ValueKind == JsonValueKind.Object
                    && message.TryGetProperty("value", out var value) && value.ValueKind == JsonValueKind.String)
                {
                    var text = value.GetString().AsSpan();
                    var colon = text.IndexOf(':');
                    if (colon is > 0 and <= 3 && int.TryParse(text[..colon], out var number))
                        index = number;
                }

                return (code, index);
            }
        }
        catch (JsonException)
        {
            return ("", null);
        }
    }
}
