namespace HibpIngest.Api.Requests;

internal static class ConfirmDocument
{
    private static readonly ErrorResponse Nothing = new(400, "No content provided.");

    public static ErrorResponse? Read(ReadOnlySpan<byte> json, out string transaction)
    {
        var found = (string?)null;
        var refusal = json.IsEmpty ? Nothing : BodyJson.Read(json, (ref reader) => ReadId(ref reader, out found));
        transaction = found ?? "";
        return refusal ?? (transaction.Length == 0 ? Nothing : null);
    }

    private static ErrorResponse? ReadId(ref Utf8JsonReader reader, out string? found)
    {
        found = null;
        reader.Read();
        if (reader.TokenType == JsonTokenType.Null)
            return Nothing;
        if (reader.TokenType != JsonTokenType.StartObject)
            return BodyJson.Unexpected("an object is expected");
        while (reader.Read() && reader.TokenType == JsonTokenType.PropertyName)
        {
            var isId = reader.ValueTextEquals("transactionId"u8);
            reader.Read();
            if (!isId)
                reader.Skip();
            else if (reader.TokenType is JsonTokenType.String or JsonTokenType.Null)
                found = reader.GetString();
            else
                return BodyJson.Unexpected("text is expected as the transactionId");
        }
        return null;
    }
}
