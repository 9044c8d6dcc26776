namespace HibpIngest.Storage.Azure.Tables;

/// <summary>Within a transaction, an error's message begins with the index of the failed operation: <c>57:</c>.</summary>
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
                int? index = null;
                if (error.TryGetProperty("message", out var message) && message.ValueKind == JsonValueKind.Object)
                {
                    var text = TextOf(message, "value").AsSpan();
                    if (text.IndexOf(':') is > 0 and <= 3 and var colon && int.TryParse(text[..colon], out var number))
                        index = number;
                }
                return (TextOf(error, "code"), index);
            }
        }
        catch (JsonException)
        {
            return ("", null);
        }
    }

    private static string TextOf(JsonElement element, string name) =>
        element.TryGetProperty(name, out var value) && value.ValueKind == JsonValueKind.String ? value.GetString()! : "";
}

/// <summary>The result of an entity group transaction. All of it is applied or nothing, so only the first failed part counts.</summary>
/// <param name="FailedStatus">Status of the first failed part; 0: none.</param>
/// <param name="FailedIndex">The failed operation's index (0-based); null if the service doesn't name it.</param>
internal readonly record struct TransactionResponse(int Succeeded, int FailedStatus, string Code, int? FailedIndex)
{
    public static TransactionResponse Parse(ReadOnlySpan<byte> body)
    {
        var succeeded = 0;
        while (true)
        {
            var at = body.IndexOf("HTTP/1.1 "u8);
            if (at < 0 || body.Length < at + 12)
                return new(succeeded, 0, "", null);
            body = body[(at + 9)..];
            var status = Digit(body[0]) * 100 + Digit(body[1]) * 10 + Digit(body[2]);
            if (status is >= 200 and < 300)
                succeeded++;
            else if (status is >= 300 and < 600)
            {
                var (code, index) = ODataError.Parse(body);
                return new(succeeded, status, code, index);
            }
        }
    }

    private static int Digit(byte character) => character is >= (byte)'0' and <= (byte)'9' ? character - '0' : 1000;
}
